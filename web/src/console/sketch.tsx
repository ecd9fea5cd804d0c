// SPDX-License-Identifier: Apache-2.0
// Sketch boards: fixed memory, and every answer with its bound drawn beside it.
import { useMemo, useState } from 'preact/hooks';
import * as api from '../lib/api';
import type { Board, Entry, SketchInfo, View } from '../lib/api';
import * as format from '../lib/format';
import { useKey, useLive, useLoad } from '../lib/hooks';
import { foldPage, liveAddress } from '../lib/live';
import { spread } from '../lib/spread';
import { Chart } from '../ui/chart';
import { Avatar, Card, Empty, Figure, Problem, Status } from '../ui/parts';

const SHOWN = 50;

export const isSketch = (board: Board) => board.kind === 'sketch';

// The main column of such a board, whatever it keeps.
export function SketchList({ board, view, at }: { board: Board; view: View; at: (change: Record<string, string>) => string }) {
    if (board.sketch === 'percentile') return <Percentiles board={board} view={view} />;
    if (board.sketch === 'distinct') return <Distinct board={board} view={view} />;
    return view.window_id ? <CountsThen board={board} view={view} at={at} /> : <Counts board={board} view={view} at={at} />;
}

// ---- counts ----

function Counts({ board, view, at }: { board: Board; view: View; at: (change: Record<string, string>) => string }) {
    const live = useLive<api.Page>(liveAddress(board.id, view, { limit: SHOWN }), (signal) => api.top(board.id, view, SHOWN, 0, signal), foldPage, [board.id, view, useKey()]);
    const info = useLoad((signal) => api.top(board.id, view, 1, 0, signal), [board.id, view, useKey()], 5000); // the bound is of the whole
    if (live.error && !live.data) return <Card><Problem error={live.error} /></Card>;
    return <Ranked entries={live.data?.entries} info={info.data || live.data} at={at}><Status status={live.status} /></Ranked>;
}

function CountsThen({ board, view, at }: { board: Board; view: View; at: (change: Record<string, string>) => string }) {
    const page = useLoad((signal) => api.top(board.id, view, SHOWN, 0, signal), [board.id, view, useKey()]);
    if (page.error) return <Card><Problem error={page.error} retry={page.reload} what="This window is not in memory any more" /></Card>;
    return <Ranked entries={page.data?.entries} info={page.data} at={at} />;
}

function Ranked({ entries, info, at, children }: { entries?: Entry[]; info: SketchInfo | null; at: (change: Record<string, string>) => string; children?: preact.ComponentChildren }) {
    const most = entries?.length ? Math.max(...entries.map((entry) => entry.high ?? Number(entry.score)), 1) : 1;
    return (
        <section class="card flush" aria-label="Largest counts">
            {!entries ? <p class="note" aria-busy="true"><span class="skeleton bar-l" /></p>
                : entries.length === 0 ? <Empty title="Nothing counted yet">The first submission will appear here at once.</Empty> : (
                <div class="scroll" tabIndex={0} role="region" aria-label="Largest counts with their bounds">
                    <table class="table bounds">
                        <thead><tr><th scope="col" class="num">Rank</th><th scope="col">Name</th><th scope="col">From at least to at most</th><th scope="col" class="num">Count</th></tr></thead>
                        <tbody>{entries.map((entry) => <Row key={entry.player} entry={entry} most={most} href={at({ player: entry.player })} />)}</tbody>
                    </table>
                </div>
            )}
            <footer class="list-foot">
                {children}
                <span class="spring" />
                {info?.error != null && <span>{info.error === 0 ? 'Exact so far' : `Who is not held has ${format.count(info.error)} at most`}</span>}
            </footer>
        </section>
    );
}

function Row({ entry, most, href }: { entry: Entry; most: number; href: string }) {
    const high = entry.high ?? Number(entry.score), low = entry.low ?? high, name = entry.name || entry.player;
    return (
        <tr>
            <td class="num"><strong>{format.count(entry.rank)}</strong></td>
            <th scope="row"><span class="named"><Avatar id={entry.player} name={name} /><a href={href}>{name}</a></span></th>
            <td class="bar-cell"><Bound low={low} high={high} most={most} label={low === high ? `exactly ${format.count(high)}` : `from ${format.count(low)} to ${format.count(high)}`} /></td>
            <td class="num">{low === high ? format.count(high) : <>{format.count(low)}–{format.count(high)}</>}</td>
        </tr>
    );
}

// Full up to what is certain, light up to what is possible, with a whisker over the doubt.
function Bound({ low, high, most, label }: { low: number; high: number; most: number; label: string }) {
    const a = 100 * low / most, b = 100 * high / most;
    return (
        <svg class="bound" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label={label}>
            <rect class="doubt" x={a} y={2} width={Math.max(0, b - a)} height={6} />
            <rect class="sure" x={0} y={2} width={a} height={6} />
            {high > low && <path class="whisker" d={`M${a} 5H${b}M${a} 1.5V8.5M${b} 1.5V8.5`} />}
        </svg>
    );
}

// ---- percentiles ----

const PARTS = 400, BARS = 50;

function Percentiles({ board, view }: { board: Board; view: View }) {
    const parts = useLoad((signal) => api.distribution(board.id, view, PARTS, signal), [board.id, view, useKey()], 5000);
    const bars = useMemo(() => (parts.data ? spread(parts.data.buckets, BARS) : null), [parts.data]);
    const x = useMemo(() => (bars ? bars.counts.map((_, i) => bars.low + i * bars.width) : []), [bars]);
    const series = useMemo(() => [{ label: 'scores', values: bars ? bars.counts : [] }], [bars]);
    const [asked, setAsked] = useState('');
    const [text, setText] = useState('');
    const found = useLoad(asked ? (signal) => api.estimate(board.id, asked, view, signal) : null, [board.id, view, asked, useKey()], 5000);
    if (parts.error && !parts.data) return <Card><Problem error={parts.error} retry={parts.reload} /></Card>;
    if (!parts.data) return <Card><p class="note" aria-busy="true"><span class="skeleton bar-l" /></p></Card>;
    const at = found.data ? Number(found.data.score) : null;
    return (
        <>
            <Card title="Where does a score stand?">
                <form class="search narrow" onSubmit={(event) => {
                    event.preventDefault();
                    setAsked(text.trim());
                }}>
                    <input inputMode="decimal" aria-label="A score" placeholder="A score" value={text} onInput={(event) => setText(event.currentTarget.value)} />
                    <button class="button primary" type="submit" disabled={!text.trim()}>Show</button>
                </form>
                <div aria-live="polite">{found.error ? <Problem error={found.error} /> : found.data && <Stands found={found.data} />}</div>
            </Card>
            <Card title="How scores are spread">
                {!bars ? <Empty title="Too few scores yet">The picture begins with the second one.</Empty>
                    : <Chart kind="bars" height={280} zero whole x={x} series={series} format={(v) => format.count(v)} formatX={(v) => format.score(+v.toPrecision(4))}
                             mark={at != null && at >= bars.low && at <= bars.low + bars.width * BARS ? { x: at, label: format.score(at) } : null}
                             label={`Histogram of ${format.count(parts.data.total)} scores from ${format.score(+bars.low.toPrecision(4))} to ${format.score(+(bars.low + bars.width * BARS).toPrecision(4))}.`} />}
            </Card>
        </>
    );
}

function Stands({ found }: { found: api.Estimate }) {
    const { rank, rank_low: low, rank_high: high, percentile, percentile_low: pLow, percentile_high: pHigh, total } = found;
    return (
        <>
            <dl class="figures stands">
                <Figure name="Rank" value={low === high ? format.count(rank) : `~${format.count(rank)}`} note={low === high ? `of ${format.count(total)}, exactly` : `${format.count(low)} to ${format.count(high)} of ${format.count(total)}`} />
                <Figure name="Better than" value={`${format.percent(percentile)}\u202f%`} note={pLow === pHigh ? 'exactly' : `${pLow.toFixed(3)} to ${pHigh.toFixed(3)}\u202f%`} />
            </dl>
            <Bound low={pLow} high={Math.max(pHigh, pLow)} most={100} label={`percentile from ${pLow.toFixed(3)} to ${pHigh.toFixed(3)}`} />
        </>
    );
}

// ---- different players ----

function Distinct({ board, view }: { board: Board; view: View }) {
    const page = useLoad((signal) => api.top(board.id, view, 1, 0, signal), [board.id, view, useKey()], 2000);
    const found = page.data?.distinct;
    if (page.error && !page.data) return <Card><Problem error={page.error} retry={page.reload} /></Card>;
    if (!found) return <Card>{page.data ? <Empty title="Nothing counted yet" /> : <p class="note" aria-busy="true"><span class="skeleton bar-l" /></p>}</Card>;
    const off = found.players * found.error;
    return (
        <Card title="Different players">
            <p class="huge-figure" aria-live="polite">{format.count(found.players)}</p>
            <p class="quiet">{found.error === 0 ? 'Exactly.' : `Give or take ${format.count(Math.ceil(off))} (one standard error, ${(100 * found.error).toFixed(2)}\u202f%); nearly always within ${format.count(Math.ceil(3 * off))}.`}</p>
            {found.error > 0 && <Bound low={Math.max(0, found.players - 2 * off)} high={found.players + 2 * off} most={(found.players + 2 * off) * 1.05} label={`between ${format.count(found.players - 2 * off)} and ${format.count(found.players + 2 * off)} with 95 percent confidence`} />}
        </Card>
    );
}

// ---- what it costs and what it promises ----

const KINDS: Record<string, string> = { counts: 'The largest counts of a stream without end', percentile: 'Where scores stand, without an entry for each', distinct: 'How many different players there were' };

export function SketchCard({ board, view }: { board: Board; view: View }) {
    const head = useLoad<SketchInfo>((signal) => (board.sketch === 'percentile' ? api.distribution(board.id, view, 2, signal) : api.top(board.id, view, 1, 0, signal)), [board.id, view, useKey()], 5000);
    const info = head.data;
    const share = info?.error && info.counted ? info.error / info.counted : 0;
    return (
        <Card title="A sketch board">
            <p class="quiet">{KINDS[board.sketch || ''] || board.sketch}, in memory that is fixed in advance. Every answer says how far it can be off.</p>
            {info && (
                <dl class="facts">
                    {info.counted != null && <div><dt>Counted</dt><dd>{format.count(info.counted)}</dd></div>}
                    {info.memory != null && <div><dt>Memory</dt><dd>{format.bytes(info.memory)} each ranking</dd></div>}
                    {info.error != null && board.sketch !== 'distinct' && <div><dt>Off by</dt><dd>{info.error === 0 ? 'nothing: it is exact' : `${format.count(info.error)} at most${share ? `, ${(100 * share).toPrecision(2)}\u202f% of all` : ''}`}</dd></div>}
                    {info.distinct && <div><dt>Players</dt><dd>{format.count(info.distinct.players)}{info.distinct.error > 0 ? ` ± ${(100 * info.distinct.error).toFixed(1)}\u202f%` : ''}</dd></div>}
                </dl>
            )}
        </Card>
    );
}
