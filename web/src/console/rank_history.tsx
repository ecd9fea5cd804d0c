// SPDX-License-Identifier: Apache-2.0
// Rank over time of one player on one board.
import { useMemo } from 'preact/hooks';
import * as api from '../lib/api';
import type { Board } from '../lib/api';
import * as format from '../lib/format';
import { useKey, useLoad } from '../lib/hooks';
import { pickSeries, seriesName } from '../lib/series';
import { Chart } from '../ui/chart';
import { Empty, Problem } from '../ui/parts';

export function RankHistory({ player, board, kind, compact, quietly }: {
    player: string; board: Board; kind: string; compact?: boolean; quietly?: boolean }) {
    const all = useLoad((signal) => api.history(player, board.id, signal), [player, board.id, useKey()]);
    const series = useMemo(() => pickSeries(all.data || [], kind), [all.data, kind]);
    const x = useMemo(() => (series ? series.points.map((p) => Date.parse(p.at) / 1000) : []), [series]);
    const lines = useMemo(() => [{ label: 'rank', values: series ? series.points.map((p) => p.rank) : [] }], [series]);
    if (all.error && !compact) return <Problem error={all.error} retry={all.reload} what="No history is kept of this player" />;
    if (!series) return compact || quietly || !all.data ? null : <Empty title="No history yet">Ranks are kept at the end of every day and window.</Empty>;
    const { points } = series;
    const last = points[points.length - 1], best = Math.min(...points.map((p) => p.rank));
    return (
        <figure class="history">
            <figcaption class="quiet">{seriesName(series.kind)}, best {format.count(best)}</figcaption>
            <Chart time invert whole height={compact ? 120 : 240} x={x} series={lines} format={(v) => (v < 1 ? '' : format.count(v))}
                   label={`${seriesName(series.kind)} from ${format.day(points[0].at)} to ${format.day(last.at)}: best ${best}, last ${last.rank}.`} />
        </figure>
    );
}
