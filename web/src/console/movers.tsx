// SPDX-License-Identifier: Apache-2.0
// Who rose and who fell most: exact ranks at two moments.
import * as api from '../lib/api';
import type { Board, Entry, View } from '../lib/api';
import * as format from '../lib/format';
import { useKey, usePast } from '../lib/hooks';
import { Avatar, Building, Empty, Problem, Tabs } from '../ui/parts';
import { decimals } from '../ui/ranking';

const SPANS: [string, string][] = [['1h', 'Hour'], ['1d', 'Day'], ['1w', 'Week'], ['30d', '30 days']];
const SHOWN = 15;

export function Movers({ board, view, query, at, sub }: {
    board: Board; view: View; query: Record<string, string>; at: (change: Record<string, string>) => string; sub: (entry: Entry) => string | undefined }) {
    const since = query.since || '1d';
    const load = usePast((signal) => api.movers(board.id, view, since, SHOWN, signal), [board.id, view, since, useKey()]);
    const found = load.data;
    return (
        <>
            <div class="list-bar">
                <Tabs label="Since" quiet items={SPANS.map(([span, name]) => ({ name, href: at({ since: span === '1d' ? '' : span }), on: span === since }))} />
                {found && <p class="quiet">{format.moment(found.from.at)} <span aria-label="to">→</span> {format.moment(found.to.at)}</p>}
            </div>
            {load.percent !== null ? <Building percent={load.percent} what="Comparing two moments" />
                : load.error ? (load.error instanceof api.ApiError && load.error.code === 'as_of_too_old'
                    ? <Empty title="The log does not reach back so far">{load.error.message}</Empty>
                    : <Problem error={load.error} retry={load.reload} what="There is nothing to compare with" />)
                : !found ? <Building percent={null} what="Comparing two moments" />
                : <>
                    <dl class="tally">
                        <div><dt>rose</dt><dd class="up">{format.count(found.rose)}</dd></div>
                        <div><dt>fell</dt><dd>{format.count(found.fell)}</dd></div>
                        <div><dt>stayed</dt><dd>{format.count(found.compared - found.rose - found.fell)}</dd></div>
                        <div><dt>are new</dt><dd>{format.count(found.entered)}</dd></div>
                    </dl>
                    {found.compared === 0 ? <Empty title="Nobody to compare">{found.entered === 0 ? 'Nobody was ranked here at either moment.' : 'All who are ranked now came since.'}</Empty> : (
                        <div class="movers">
                            <Side title="Rose most" movers={found.risers} none="Nobody rose." board={board} at={at} sub={sub} />
                            <Side title="Fell most" movers={found.fallers} none="Nobody fell." board={board} at={at} sub={sub} />
                        </div>
                    )}
                </>}
        </>
    );
}

function Side({ title, movers, none, board, at, sub }: {
    title: string; movers: api.Mover[]; none: string; board: Board; at: (change: Record<string, string>) => string; sub: (entry: Entry) => string | undefined }) {
    return (
        <section aria-label={title}>
            <h2>{title}</h2>
            {movers.length === 0 ? <p class="quiet">{none}</p> : (
                <ol>
                    {movers.map(({ change, rank_before, entry }) => (
                        <li key={entry.player}>
                            <span class={'move ' + (change > 0 ? 'up' : 'down')}><span aria-hidden="true">{change > 0 ? '▲' : '▼'}</span><span class="hidden">{change > 0 ? 'up ' : 'down '}</span>{format.count(Math.abs(change))}</span>
                            <Avatar id={entry.player} name={entry.name} />
                            <span class="who"><a href={at({ player: entry.player, list: '', since: '' })}>{entry.name || entry.player}</a>{sub(entry) && <small>{sub(entry)}</small>}</span>
                            <span class="num"><span class="quiet">{format.count(rank_before)} →</span> <strong>{format.count(entry.rank)}</strong><small>{format.score(entry.score, decimals(board))}</small></span>
                        </li>
                    ))}
                </ol>
            )}
        </section>
    );
}
