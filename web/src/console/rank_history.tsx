// SPDX-License-Identifier: Apache-2.0
// Rank over time of one player on one board.
import { useMemo } from 'preact/hooks';
import * as api from '../lib/api';
import type { Board } from '../lib/api';
import * as format from '../lib/format';
import { useKey, useLoad } from '../lib/hooks';
import { Chart } from '../ui/chart';
import { Empty, Problem } from '../ui/parts';

export function RankHistory({ player, board, kind, compact }: { player: string; board: Board; kind: string; compact?: boolean }) {
    const series = useLoad((signal) => api.history(player, board.id, kind, signal), [player, board.id, kind, useKey()]);
    const points = useMemo(() => series.data || [], [series.data]);
    const x = useMemo(() => points.map((p) => Date.parse(p.at) / 1000), [points]);
    const lines = useMemo(() => [{ label: 'rank', values: points.map((p) => p.rank) }], [points]);
    if (series.error && !compact) return <Problem error={series.error} retry={series.reload} what="No history is kept of this player" />;
    if (points.length < 2) {
        return compact || !series.data ? null : <Empty title="No history yet">Ranks are kept at the end of every day and window; come back tomorrow.</Empty>;
    }
    const last = points[points.length - 1], best = Math.min(...points.map((p) => p.rank));
    return (
        <figure class="history">
            {compact && <figcaption class="quiet">Rank over time, best {format.count(best)}</figcaption>}
            <Chart time invert whole height={compact ? 120 : 240} x={x} series={lines} format={(v) => (v < 1 ? '' : format.count(v))}
                   label={`Rank from ${format.day(points[0].at)} to ${format.day(last.at)}: best ${best}, last ${last.rank}.`} />
        </figure>
    );
}
