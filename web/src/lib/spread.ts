// SPDX-License-Identifier: Apache-2.0
// A histogram from parts of equal count: bars of equal width over all scores, or, where a few outliers would squeeze the
// rest into one bar, over the middle of them.
export interface Part {
    low: number;
    high: number;
    count: number;
}

export interface Spread {
    low: number;
    width: number; // of one bar
    counts: number[];
    isCut: boolean; // outliers at one or both ends are not shown
}

const CUT = 0.01;     // the share left out at either end ...
const SQUEEZED = 0.4; // ... when what is between would have less than this share of the width

export function spread(parts: Part[], bars: number): Spread | null {
    const sorted = parts.map((p) => ({ low: Math.min(p.low, p.high), high: Math.max(p.low, p.high), count: p.count })).sort((a, b) => a.low - b.low || a.high - b.high);
    const total = sorted.reduce((sum, p) => sum + p.count, 0);
    if (total === 0) return null;
    const all = [sorted[0].low, sorted.reduce((high, p) => Math.max(high, p.high), -Infinity)];
    const middle = [quantile(sorted, total * CUT), quantile(sorted, total * (1 - CUT))];
    const isCut = middle[1] > middle[0] && middle[1] - middle[0] < SQUEEZED * (all[1] - all[0]);
    const [low, high] = isCut ? middle : all;
    if (!(high > low)) return null;
    const width = (high - low) / bars;
    const counts = new Array<number>(bars).fill(0);
    for (const p of sorted) pour(p, low, width, counts);
    return { low, width, counts: counts.map((n) => Math.round(n * 10) / 10), isCut };
}

// Where so many of the sorted scores are below, evenly within a part.
function quantile(sorted: Part[], wanted: number): number {
    let before = 0;
    for (const p of sorted) {
        if (before + p.count >= wanted) return p.low + (p.high - p.low) * Math.max(0, wanted - before) / p.count;
        before += p.count;
    }
    return sorted[sorted.length - 1].high;
}

// A part's entries over the bars it lies in, evenly.
function pour(p: Part, low: number, width: number, counts: number[]): void {
    const bar = (score: number) => Math.floor((score - low) / width);
    if (p.high === p.low) {
        const at = p.low === low + width * counts.length ? counts.length - 1 : bar(p.low); // the highest score is in the last bar
        if (at >= 0 && at < counts.length) counts[at] += p.count;
        return;
    }
    for (let i = Math.max(0, bar(p.low)); i < counts.length && low + i * width < p.high; i++) {
        const from = Math.max(p.low, low + i * width), to = Math.min(p.high, low + (i + 1) * width);
        if (to > from) counts[i] += p.count * (to - from) / (p.high - p.low);
    }
}
