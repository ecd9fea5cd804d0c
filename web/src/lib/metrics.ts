// SPDX-License-Identifier: Apache-2.0
// Reading the Prometheus text of /metrics, and what two readings say together.

export interface Sample {
    name: string;
    labels: Record<string, string>;
    value: number;
}

const LINE = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)/;
const LABEL = /([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"/g;

export function parseMetrics(text: string): Sample[] {
    const out: Sample[] = [];
    for (const line of text.split('\n')) {
        if (!line || line[0] === '#') continue;
        const match = LINE.exec(line);
        if (!match) continue;
        const labels: Record<string, string> = {};
        if (match[2]) {
            for (const [, key, raw] of match[2].matchAll(LABEL)) {
                labels[key] = raw.replace(/\\(.)/g, (_, c) => (c === 'n' ? '\n' : c));
            }
        }
        out.push({ name: match[1], labels, value: match[3] === '+Inf' ? Infinity : Number(match[3]) });
    }
    return out;
}

type Labels = Record<string, string>;

function fits(sample: Sample, name: string, labels: Labels): boolean {
    return sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value);
}

// The sum over all series of that name; null where there is none.
export function total(samples: Sample[], name: string, labels: Labels = {}): number | null {
    let sum: number | null = null;
    for (const sample of samples) if (fits(sample, name, labels)) sum = (sum ?? 0) + sample.value;
    return sum;
}

// Cumulative buckets of a histogram, series added up: sorted [upper bound, count].
export function buckets(samples: Sample[], name: string, labels: Labels = {}): [number, number][] {
    const sums = new Map<number, number>();
    for (const sample of samples) {
        if (!fits(sample, name + '_bucket', labels)) continue;
        const bound = sample.labels.le === '+Inf' ? Infinity : Number(sample.labels.le);
        sums.set(bound, (sums.get(bound) || 0) + sample.value);
    }
    return [...sums].sort((a, b) => a[0] - b[0]);
}

// The quantile of what happened between two readings, by linear interpolation inside its bucket; null when nothing did.
export function quantile(before: [number, number][], after: [number, number][], q: number): number | null {
    const old = new Map(before);
    const counts = after.map(([bound, n]) => [bound, n - (old.get(bound) || 0)] as [number, number]);
    const all = counts.length ? counts[counts.length - 1][1] : 0;
    if (all <= 0) return null;
    const want = q * all;
    let lower = 0, below = 0;
    for (const [bound, n] of counts) {
        if (n >= want) {
            if (bound === Infinity) return lower;
            return lower + (bound - lower) * (n > below ? (want - below) / (n - below) : 1);
        }
        lower = bound;
        below = n;
    }
    return lower;
}
