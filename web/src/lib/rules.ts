// SPDX-License-Identifier: Apache-2.0
// What a board does with scores, in words.
import type { Board } from './api';

const UPDATE: Record<string, string> = {
    best: 'Best result counts',
    last: 'Latest result counts',
    sum: 'Results add up',
    count: 'Every submission counts one',
    decay: 'Results add up and fade with time',
    elo: 'Elo rating',
    glicko2: 'Glicko-2 rating',
    openskill: 'Weng-Lin rating',
};

const SKETCH: Record<string, string> = { counts: 'Largest counts, with bounds', percentile: 'Where scores stand, with bounds', distinct: 'How many different players' };

export function rules(board: Board): string {
    if (board.kind === 'sketch') return SKETCH[board.sketch || ''] || 'Sketch';
    const parts = [UPDATE[board.update] || board.update];
    if (board.score.order === 'asc') parts.push('lowest first');
    return parts.join(', ');
}

// The names by which windows can be asked for, in the board's order.
export function windowKinds(board: Board): { kind: string; isSeason: boolean }[] {
    return board.windows.map((w) => (typeof w === 'string' ? { kind: w, isSeason: false } : { kind: w.name, isSeason: true }));
}
