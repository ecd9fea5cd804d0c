// SPDX-License-Identifier: Apache-2.0
// Who rose and who fell: ranks of one moment against those of the next.

export interface Move {
    by: number; // places gained; negative: lost
    at: number; // when, in ms
}

// The arrows to show after `entries` replaced `ranks`. A player who moves again while the arrow shows adds up; one who is back
// where the arrow began has none.
export function freshMoves(ranks: Map<string, number>, entries: { player: string; rank: number }[],
                           shown: Map<string, Move>, now: number, keepMs: number): Map<string, Move> {
    const moves = new Map<string, Move>();
    for (const { player, rank } of entries) {
        const old = shown.get(player);
        const fresh = old && now - old.at < keepMs ? old : undefined;
        const before = ranks.get(player);
        const by = before === undefined ? 0 : before - rank;
        const sum = by + (fresh ? fresh.by : 0);
        if (sum !== 0) moves.set(player, by ? { by: sum, at: now } : fresh!);
    }
    return moves;
}
