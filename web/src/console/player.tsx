// SPDX-License-Identifier: Apache-2.0
// One player: profile, place on every board, rank over time, what happens right now; for operators, ban and unban.
import { useEffect, useRef, useState } from 'preact/hooks';
import * as api from '../lib/api';
import type { Board } from '../lib/api';
import * as format from '../lib/format';
import { useKey, useLoad, useStored, useTitle } from '../lib/hooks';
import { address } from '../lib/api';
import { parseExact } from '../lib/json';
import { watch } from '../lib/live';
import type { Message } from '../lib/sse';
import { href } from '../lib/route';
import { windowKinds } from '../lib/rules';
import { Avatar, Card, Empty, Problem, Tabs } from '../ui/parts';
import { decimals } from '../ui/ranking';
import { Moderation, Notes } from './admin/moderation';
import { Submissions } from './admin/submissions';
import { isRating } from '../lib/definition';
import { RankHistory } from './rank_history';
import { MatchList, RatingCurve } from './rating';

const BOARDS_MAX = 60; // one question each
const NEWS_MAX = 30;
const NEWS_MS = 2000; // places are asked for again at most this often

export interface Place {
    board: Board;
    found: api.Neighbourhood | null;
}

export function PlayerPage({ id, query, operate }: { id: string; query: Record<string, string>; operate?: boolean }) {
    const key = useKey();
    const [me, setMe] = useStored('rung.me');
    const who = useLoad<api.Profile | null>((signal) => api.profile(id, signal).catch((error) => {
        if (error instanceof api.ApiError && error.status === 404) return null; // ranked perhaps, without a profile
        if (api.isRefused(error) && !operate && !key) return { attributes: {}, banned: false, isHidden: true }; // public boards tell of places only
        throw error;
    }), [id, key, operate], 10000);
    const places = useLoad((signal) => placesOf(id, signal), [id, key], 10000);
    const name = who.data?.name || places.data?.find((p) => p.found)?.found?.entry.name || id;
    useTitle(name);
    const ranked = (places.data || []).filter((p) => p.found);
    const reload = () => {
        who.reload();
        places.reload();
    };
    if (who.error && !who.data) return <Card><Problem error={who.error} retry={who.reload} /></Card>;
    const unknown = !who.busy && (who.data === null || who.data.isHidden) && places.data && ranked.length === 0;
    return (
        <>
            <header class="page-head player-head">
                <Avatar id={id} name={name} large />
                <div>
                    <h1>{name}{id === me && <span class="you">you</span>}{who.data?.banned && <span class="badge warn">{who.data.isShadow ? 'shadow banned' : 'banned'}{who.data.bannedUntil ? ` until ${format.when(who.data.bannedUntil)}` : ''}</span>}</h1>
                    <p class="quiet">{[id, ...Object.entries(who.data?.attributes || {}).map(([k, v]) => format.scopeValue(k, v))].join(' · ')}</p>
                </div>
                <span class="spring" />
                {operate ? <a class="button" href={href(['p', id])}>As visitors see it</a>
                    : <button class="button" type="button" onClick={() => setMe(id === me ? '' : id)}>{id === me ? 'This is not me' : 'This is me'}</button>}
                {!operate && key && <a class="button" href={href(['admin', 'player', id])}>Operate</a>}
            </header>
            {unknown ? <Card><Empty title="Nobody by that id">No board has a score of “{id}”, and there is no profile.</Empty></Card> : (
                <div class="columns">
                    <div class="main-column">
                        <Places places={places.data} error={places.error} ranked={ranked} id={id} banned={Boolean(who.data?.banned)} />
                        <History ranked={ranked} id={id} query={query} operate={operate} />
                        {operate && <Submissions player={id} places={places.data || []} />}
                    </div>
                    <aside class="side-column" aria-label="Now">
                        {!who.data?.isHidden && <Feed id={id} onNews={places.reload} />}
                        {operate && <Moderation player={id} name={name} banned={Boolean(who.data?.banned)} until={who.data?.bannedUntil} isShadow={Boolean(who.data?.isShadow)} places={places.data || []} onDone={reload} />}
                        {operate && <Notes player={id} />}
                    </aside>
                </div>
            )}
        </>
    );
}

async function placesOf(player: string, signal: AbortSignal): Promise<Place[]> {
    const list = (await api.boards(signal)).filter((board) => board.kind !== 'sketch').slice(0, BOARDS_MAX);
    return Promise.all(list.map(async (board) => {
        return { board, found: await api.around(board.id, player, {}, 1, signal) };
    }));
}

function Places({ places, error, ranked, id, banned }: { places: Place[] | null; error: Error | null; ranked: Place[]; id: string; banned: boolean }) {
    return (
        <Card title="Places" flush>
            {error ? <Problem error={error} /> : !places ? <p class="note" aria-busy="true"><span class="skeleton bar-l" /></p>
                : ranked.length === 0 ? <Empty title={banned ? 'Hidden from every ranking' : 'No scores yet'}>{banned ? 'A banned player keeps their scores, and gets every place back when the ban is lifted.' : undefined}</Empty> : (
                <div class="scroll">
                    <table class="table">
                        <thead><tr><th scope="col">Board</th><th scope="col" class="num">Rank</th><th scope="col" class="num">Score</th><th scope="col" class="num">Top</th><th scope="col">Next above</th></tr></thead>
                        <tbody>
                            {ranked.map(({ board, found }) => {
                                const above = found!.above[found!.above.length - 1];
                                return (
                                    <tr key={board.id}>
                                        <th scope="row"><a href={href(['b', board.id], { player: id })}>{board.title || board.id}</a></th>
                                        <td class="num"><strong>{format.count(found!.entry.rank)}</strong> <span class="quiet">of {format.count(found!.total)}</span></td>
                                        <td class="num">{format.score(found!.entry.score, decimals(board))}</td>
                                        <td class="num">{format.topShare(found!.entry.rank, found!.total)}</td>
                                        <td>{above ? <a href={href(['p', above.player])}>{above.name || above.player}</a> : <span class="quiet">nobody</span>}</td>
                                    </tr>
                                );
                            })}
                        </tbody>
                    </table>
                </div>
            )}
        </Card>
    );
}

function History({ ranked, id, query, operate }: { ranked: Place[]; id: string; query: Record<string, string>; operate?: boolean }) {
    if (ranked.length === 0) return null;
    const place = ranked.find((p) => p.board.id === query.board) || ranked[0];
    const kinds = windowKinds(place.board).filter((k) => !k.isSeason);
    return (
        <>
        <Card title={isRating(place.board.update) ? 'Rating and rank over time' : 'Rank over time'}>
            {ranked.length > 1 && <Tabs label="Board" quiet items={ranked.slice(0, 8).map((p) => ({
                name: p.board.title || p.board.id, href: href(operate ? ['admin', 'player', id] : ['p', id], { board: p.board.id }), on: p === place }))} />}
            {isRating(place.board.update) && <RatingCurve player={id} board={place.board} key={`rating ${place.board.id}`} />}
            <RankHistory player={id} board={place.board} kind={kinds[0]?.kind || 'all'} quietly={isRating(place.board.update)} key={place.board.id} />
        </Card>
        {isRating(place.board.update) && <MatchList player={id} board={place.board} titled={ranked.length > 1} key={`matches ${place.board.id}`} />}
        </>
    );
}

// ---- what happens to this player now ----

interface News {
    key: string;
    at: number;
    text: string;
    up: boolean;
}

function Feed({ id, onNews }: { id: string; onNews: () => void }) {
    const [news, set] = useState<News[]>([]);
    const [on, setOn] = useState(false);
    const key = useKey();
    const told = useRef(0);
    useEffect(() => {
        set([]);
        setOn(false);
        return watch<number>({
            streamUrl: address(['players', id, 'live']),
            poll: () => Promise.reject(new Error('there is nothing to ask')),
            fold: (turn, message) => {
                const items = readNews(message);
                if (items.length) {
                    set((old) => [...items, ...old].slice(0, NEWS_MAX));
                    if (Date.now() - told.current > NEWS_MS) {
                        told.current = Date.now();
                        onNews();
                    }
                }
                return message.event === 'end' ? undefined : (turn || 0) + 1;
            },
            onState: () => undefined,
            onStatus: (status) => setOn(status === 'live'),
        });
    }, [id, key]);
    return (
        <Card title="Right now" aside={<span class={'status ' + (on ? 'live' : '')}>{on ? 'Live' : 'Waiting'}</span>}>
            {news.length === 0 ? <p class="quiet hint">Passing and being passed appears here as it happens.</p> : (
                <ol class="news" aria-live="polite">
                    {news.map((item) => (
                        <li key={item.key}><span class={'move ' + (item.up ? 'up' : 'down')} aria-hidden="true">{item.up ? '▲' : '▼'}</span> {item.text} <span class="quiet">{format.ago(new Date(item.at).toISOString())}</span></li>
                    ))}
                </ol>
            )}
        </Card>
    );
}

// A feed's changes as sentences (docs/live.md).
function readNews(message: Message): News[] {
    if (message.event !== 'change') return [];
    const out: News[] = [];
    for (const change of parseExact(message.data).boards) {
        const { board, window, rank, rank_before: before } = change;
        if (rank == null || before == null || rank === before) continue;
        const up = rank < before;
        const { count, players } = up ? change.passed : change.passed_by;
        const who = players.length === 0 ? '' : count > players.length ? `${players[0]} and ${count - 1} more` : players.join(', ');
        out.push({
            key: `${message.id} ${board} ${window}`, at: Date.now(), up,
            text: (who ? (up ? 'Passed ' : 'Passed by ') + who : up ? 'Up' : 'Down') + `: ${format.count(before)} → ${format.count(rank)} on ${board}`,
        });
    }
    return out;
}
