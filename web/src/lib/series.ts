// SPDX-License-Identifier: Apache-2.0
// Which of a player's past places make a line: those in windows of one kind.
import type { Point } from './api';

export interface Series {
    kind: string;
    points: Point[];
}

// The series of `wanted` (a kind of window) if it has two points or more, else the longest there is; null: none has two.
export function pickSeries(points: Point[], wanted: string): Series | null {
    const kinds = new Map<string, Point[]>();
    for (const point of points) kinds.set(point.kind, [...(kinds.get(point.kind) || []), point]);
    const own = kinds.get(wanted);
    if (own && own.length > 1) return { kind: wanted, points: own };
    const [longest] = [...kinds].sort((a, b) => b[1].length - a[1].length);
    return longest && longest[1].length > 1 ? { kind: longest[0], points: longest[1] } : null;
}

// What the line shows.
export function seriesName(kind: string): string {
    return kind === 'all' ? 'Rank of all time, day by day' : `Final rank of each ${kind}`;
}
