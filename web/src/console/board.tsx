// SPDX-License-Identifier: Apache-2.0
// A board's page. Everything that is shown is in the address: window, scope, list, player.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import * as api from '../lib/api';
import type { Board, Entry, Page, View } from '../lib/api';
import * as format from '../lib/format';
import { isRating } from '../lib/definition';
import { useKey, useLive, useLoad, useOffers, usePast, useStored, useTitle } from '../lib/hooks';
import { foldPage, liveAddress } from '../lib/live';
import { href } from '../lib/route';
import { rules, windowKinds } from '../lib/rules';
import { spread } from '../lib/spread';
import { Chart } from '../ui/chart';
import { Avatar, Building, Card, Copy, Empty, Figure, Problem, Status, Tabs } from '../ui/parts';
import { decimals, Ranking, RankingSkeleton } from '../ui/ranking';
import { AsOf, AsOfButton } from './as_of';
import { Movers } from './movers';
import { RankHistory } from './rank_history';
import { Matches, Opponents, Predict, RatingCurve, RatingFigures } from './rating';
import { ScopePicker } from './scopes';
import { isSketch, SketchCard, SketchList } from './sketch';

type Query = Record<string, string>;
const PAGE = 50;
const LISTS = ['top', 'around', 'friends', 'teams', 'matches', 'movers', 'past'] as const;
type List = (typeof LISTS)[number];

export function BoardPage({ id, query }: { id: string; query: Query }) {
    const key = useKey();
    const board = usePast((signal) => api.board(id, signal, query.as_of), [id, key, query.as_of]);
    const isTooOld = board.error instanceof api.ApiError && board.error.code === 'as_of_too_old';
    const title = board.data?.title || id;
    useTitle(title);
    if (board.error && query.as_of) return <PastProblem id={id} query={query} error={board.error} retry={board.reload} isTooOld={isTooOld} />;
    if (board.error) return <Card><Problem error={board.error} retry={board.reload} what={`There is no board “${id}”`} /></Card>;
    if (!board.data) return <><header class="page-head"><h1>{title}</h1></header><Card flush>{board.percent !== null ? <Building percent={board.percent} /> : <RankingSkeleton />}</Card></>;
    return <BoardView board={board.data} query={query} />;
}

// A moment that cannot be shown: before the board, before the kept log, in the future.
function PastProblem({ id, query, error, retry, isTooOld }: { id: string; query: Query; error: Error; retry: () => void; isTooOld: boolean }) {
    const { as_of: asOf, ...rest } = query;
    return (
        <>
            <header class="page-head"><h1>{id}</h1></header>
            <AsOf asOf={asOf} at={(change) => href(['b', id], clean({ ...rest, ...change }))} />
            <Card><Problem error={error} retry={retry} what={isTooOld ? 'The log does not reach back so far' : `There was no board “${id}” then`} /></Card>
        </>
    );
}

function BoardView({ board, query }: { board: Board; query: Query }) {
    const [me, setMe] = useStored('rung.me');
    const focus = query.player || me;
    const view: View = useMemo(() => ({
        window: query.window, window_id: query.id, scope: query.scope, rank: query.rank, as_of: query.as_of,
    }), [query.window, query.id, query.scope, query.rank, query.as_of]);
    const list: List = LISTS.includes(query.list as List) ? (query.list as List) : 'top';
    const at = (change: Query) => href(['b', board.id], clean({ ...query, ...change }));
    const kinds = windowKinds(board);
    const kind = view.window || (kinds.some((k) => k.kind === 'all') ? 'all' : kinds[0].kind);
    return (
        <>
            <header class="page-head">
                <div>
                    <h1>{board.title || board.id}</h1>
                    <p class="quiet">{rules(board)}{board.timezone && board.timezone !== 'UTC' ? ` · days end in ${board.timezone.replace(/_/g, ' ')}` : ''}</p>
                </div>
                <div class="head-buttons">
                    <AsOfButton asOf={query.as_of} at={at} />
                    <Share board={board.id} query={query} />
                </div>
            </header>
            {query.as_of && <AsOf asOf={query.as_of} at={at} />}
            <div class="filters">
                {(kinds.length > 1 || view.window_id) && <Tabs label="Time" items={[
                    ...kinds.map((k) => ({
                        name: format.windowName(k.kind), href: at({ window: k.kind, id: '', offset: '' }), on: k.kind === kind && !view.window_id })),
                    ...(view.window_id ? [{ name: format.windowId(view.window_id), href: at({}), on: true }] : []),
                ]} />}
                {board.scopes.length > 0 && <ScopePicker board={board} scope={view.scope} at={at} me={focus} view={view} />}
            </div>
            <div class="columns">
                {isSketch(board) ? (
                    <>
                        <div class="main-column"><SketchList board={board} view={view} at={at} /></div>
                        <aside class="side-column" aria-label="About"><SketchCard board={board} view={view} /></aside>
                    </>
                ) : <>
                <div class="main-column">
                    <Lists board={board} list={list} view={view} focus={focus} me={me} query={query} at={at} />
                </div>
                <aside class="side-column" aria-label="Player and distribution">
                    <Focus board={board} view={view} focus={focus} me={me} setMe={setMe} at={at} />
                    <Spread board={board} view={view} focus={focus} isMe={focus === me} />
                    {isRating(board.update) && !view.as_of && <Predict board={board} focus={focus} />}
                    {isRating(board.update) && !view.as_of && focus && <Opponents board={board} view={view} focus={focus} at={at} />}
                </aside>
                </>}
            </div>
        </>
    );
}

function clean(query: Query): Query {
    return Object.fromEntries(Object.entries(query).filter(([, value]) => value));
}

interface ListProps {
    board: Board;
    view: View;
    focus: string;
    me: string;
    query: Query;
    at: (change: Query) => string;
}

function Lists({ list, ...props }: ListProps & { list: List }) {
    const { board, at } = props;
    const hasMatches = useOffers('/v1/boards/{board}/matches') && isRating(board.update);
    const items = [
        { name: 'Top', id: 'top' },
        { name: 'Around', id: 'around' },
        { name: 'Friends', id: 'friends' },
        ...(board.teams ? [{ name: teamsName(board), id: 'teams' }] : []),
        ...(hasMatches ? [{ name: 'Matches', id: 'matches' }] : []),
        { name: 'Movers', id: 'movers' },
        { name: 'Past', id: 'past' },
    ].map((item) => ({ name: item.name, href: at({ list: item.id === 'top' ? '' : item.id, offset: '' }), on: item.id === list }));
    return (
        <section class="card flush" aria-label="Ranking">
            <Tabs label="Ranking" items={items} quiet />
            {list === 'top' && (props.query.offset || props.query.id || props.view.as_of ? <Further {...props} offset={Number(props.query.offset) || 0} /> : <Top {...props} />)}
            {list === 'around' && <Around {...props} />}
            {list === 'friends' && <Friends {...props} />}
            {list === 'teams' && <Teams {...props} />}
            {list === 'matches' && <Matches {...props} />}
            {list === 'movers' && <Movers {...props} sub={sub(board)} />}
            {list === 'past' && <Past {...props} />}
        </section>
    );
}

function teamsName(board: Board): string {
    const by = board.teams!.by;
    return by[0].toUpperCase() + by.slice(1) + 's';
}

const sub = (board: Board) => (entry: Entry) => {
    const parts = board.scopes.concat(board.teams ? [board.teams.by] : [])
        .map((name) => [name, attribute(entry, name)] as const).filter(([, value]) => value)
        .map(([name, value]) => format.scopeValue(name, value!));
    return [...new Set(parts)].join(' · ') || (entry.name && entry.name !== entry.player ? entry.player : undefined);
};

function attribute(entry: Entry, name: string): string | undefined {
    return name === 'country' ? entry.country : entry.attributes?.[name];
}

function Top(props: ListProps) {
    const { board, view, me, focus, at } = props;
    const live = useLive<Page>(liveAddress(board.id, view, { limit: PAGE }),
        (signal) => api.top(board.id, view, PAGE, 0, signal), foldPage, [board.id, view, useKey()]);
    return (
        <>
            {api.isRefused(live.error) ? <Problem error={live.error!} /> : live.data ? live.data.total > 0 && <Ranking label="Top players" entries={live.data.entries} board={board} me={me} focus={focus} sub={sub(board)}
                                  link={(entry) => at({ player: entry.player })} />
                : live.error ? <Problem error={live.error} what="Nothing to rank here yet" />
                : <RankingSkeleton />}
            {live.data?.total === 0 && <Nobody view={view} />}
            <Foot board={board} page={live.data} offset={0} view={view} at={at}><Status status={live.status} /></Foot>
        </>
    );
}

function Nobody({ view }: { view: View }) {
    if (view.scope) return <Empty title="Nobody here yet">No ranked player has {view.scope.replace(':', ' ')}.</Empty>;
    return <Empty title="Nobody has a score yet">The first submission will appear here at once.</Empty>;
}

// Pages further down, and windows that are over: asked again now and then, not streamed.
function Further({ board, view, me, focus, at, offset }: ListProps & { offset: number }) {
    const page = usePast((signal) => api.top(board.id, view, PAGE, offset, signal), [board.id, view, offset, useKey()], view.as_of ? 0 : 3000);
    return (
        <>
            {page.percent !== null ? <Building percent={page.percent} /> : page.data ? <Ranking label={`Players from place ${offset + 1}`} entries={page.data.entries} board={board} me={me} focus={focus}
                                  sub={sub(board)} link={(entry) => at({ player: entry.player })} />
                : page.error ? <Problem error={page.error} retry={page.reload} /> : <RankingSkeleton />}
            {page.data && page.data.entries.length === 0 && (offset > 0 ? <Empty title="Beyond the end">The board ends before this place.</Empty>
                : <Empty title={view.as_of ? 'Nobody had a score then' : 'Nobody has a score here'} />)}
            <Foot board={board} page={page.data} offset={offset} view={view} at={at}>{view.as_of && page.data && <span>as of event {format.count(page.data.seq)}</span>}</Foot>
        </>
    );
}

function Foot({ board, page, offset, view, at, children }: {
    board: Board; page: Page | null; offset: number; view: View; at: (change: Query) => string; children?: preact.ComponentChildren }) {
    const total = page?.total || 0;
    const last = Math.min(offset + PAGE, total);
    return (
        <footer class="list-foot">
            {children}
            <span class="spring" />
            <label class="rank-style">
                <span>Ties</span>
                <select value={view.rank || board.rank || 'sparse'} onChange={(event) => (location.hash = at({ rank: event.currentTarget.value }))}>
                    <option value="sparse">share a rank: 1 1 3</option>
                    <option value="dense">share, no gaps: 1 1 2</option>
                    <option value="unique">one rank each: 1 2 3</option>
                </select>
            </label>
            {total > 0 && <span class="count">{format.count(offset + 1)}–{format.count(last)} of {format.count(total)}</span>}
            {offset > 0 && <a class="button small" href={at({ offset: offset > PAGE ? String(offset - PAGE) : '' })}>Back</a>}
            {last < total && <a class="button small" href={at({ offset: String(offset + PAGE) })}>Next</a>}
        </footer>
    );
}

// One player's surroundings in the past: asked once.
function Then({ load, label, board, me, focus, at, none }: Pick<ListProps, 'board' | 'me' | 'focus' | 'at'> & { load: (signal: AbortSignal) => Promise<Page | null>; label: string; none: string }) {
    const page = usePast(load, [load, useKey()]);
    if (page.percent !== null) return <Building percent={page.percent} />;
    if (page.error) return <Problem error={page.error} retry={page.reload} what={none} />;
    if (page.busy) return <RankingSkeleton rows={6} />;
    if (!page.data || page.data.entries.length === 0) return <Empty title={none} />;
    return <Ranking label={label} entries={page.data.entries} board={board} me={me} focus={focus} sub={sub(board)} link={(entry) => at({ player: entry.player })} moves={false} />;
}

function Around(props: ListProps) {
    const { board, view, focus } = props;
    const load = useMemo(() => (signal: AbortSignal) => api.around(board.id, focus, view, 10, signal), [board.id, focus, view]);
    return view.as_of && focus ? <Then {...props} load={load} label={`Players around ${focus}`} none={`${focus} was not ranked here then`} /> : <AroundNow {...props} />;
}

function Friends(props: ListProps) {
    const { board, view, focus } = props;
    const load = useMemo(() => (signal: AbortSignal) => api.friends(board.id, focus, view, signal), [board.id, focus, view]);
    return view.as_of && focus ? <Then {...props} load={load} label={`Friends of ${focus}`} none={`${focus} had no friends here then`} /> : <FriendsNow {...props} />;
}

function AroundNow({ board, view, focus, me, at }: ListProps) {
    const live = useLive<Page>(focus ? liveAddress(board.id, view, { player: focus, around: 10 }) : null,
        async (signal) => {
            const page = await api.around(board.id, focus, view, 10, signal);
            return page || { total: 0, seq: 0, entries: [] };
        }, foldPage, [board.id, view, focus, useKey()]);
    if (!focus) return <Empty title="Around whom?">Find yourself with the search box, then see who is just above and just below.</Empty>;
    return (
        <>
            {live.data ? (live.data.entries.length === 0 ? <Empty title={`${focus} is not ranked here`}>No score in this window or scope.</Empty> : <Ranking label={`Players around ${focus}`} entries={live.data.entries} board={board} me={me} focus={focus} sub={sub(board)}
                                  link={(entry) => at({ player: entry.player })} />)
                : live.error ? <Problem error={live.error} />
                : <RankingSkeleton rows={11} />}
            <Foot board={board} page={null} offset={0} view={view} at={at}><Status status={live.status} /></Foot>
        </>
    );
}

function FriendsNow({ board, view, focus, me, at }: ListProps) {
    const page = useLive<Page>(focus ? liveAddress(board.id, view, { friends: focus, limit: 200 }) : null,
        (signal) => api.friends(board.id, focus, view, signal), foldPage, [board.id, view, focus, useKey()]);
    if (!focus) return <Empty title="Whose friends?">Find yourself with the search box to see your friends ranked among themselves.</Empty>;
    if (page.error && !page.data) return <Problem error={page.error} what={`${focus} is not known here`} />;
    if (!page.data) return <RankingSkeleton rows={6} />;
    if (page.data.entries.length === 0) return <Empty title="No friends on this board">Friendships are sent by the game; none of {focus}’s friends has a score here.</Empty>;
    return (
        <Ranking label={`Friends of ${focus}`} entries={page.data.entries} board={board} me={me} focus={focus}
                 sub={(entry) => (entry.global_rank ? `${format.count(entry.global_rank)} of all` : sub(board)(entry))}
                 link={(entry) => at({ player: entry.player })} />
    );
}

function Teams({ board, view }: ListProps) {
    const page = usePast((signal) => api.teams(board.id, view, 100, signal), [board.id, view, useKey()], view.as_of ? 0 : 4000);
    if (page.percent !== null) return <Building percent={page.percent} />;
    if (page.error) return <Problem error={page.error} retry={page.reload} />;
    if (!page.data) return <RankingSkeleton rows={6} />;
    if (page.data.entries.length === 0) return <Empty title="No teams yet">A {board.teams!.by} appears once one of its members has a score.</Empty>;
    const combine = board.teams!.combine;
    const how = combine === 'sum' ? 'Scores of all members added.' : combine === 'mean' ? 'Mean score of the members.'
        : `The ${combine.replace('top:', '')} best members added.`;
    return (
        <>
            <p class="note">{how}</p>
            <Ranking label={teamsName(board)} what={teamsName(board)} entries={page.data.entries} showTime={false}
                     sub={(entry) => (entry.members != null ? `${format.count(entry.members)} ${entry.members === 1 ? 'member' : 'members'}` : undefined)} />
        </>
    );
}

function Past({ board, at }: ListProps) {
    const windows = useLoad((signal) => api.windows(board.id, signal), [board.id, useKey()]);
    if (windows.error) return <Problem error={windows.error} retry={windows.reload} />;
    if (!windows.data) return <RankingSkeleton rows={4} />;
    const closed = windows.data.filter((w) => w.closed).sort((a, b) => String(b.ends).localeCompare(String(a.ends))).slice(0, 60);
    if (closed.length === 0) return <Empty title="Nothing has ended yet">Weeks, days and seasons are kept here with their final standings once they close.</Empty>;
    return (
        <ul class="past">
            {closed.map((w) => (
                <li key={w.kind + w.id}>
                    <a href={at({ list: '', id: '', offset: '', ...address(w) })}>{format.windowId(w.id)}</a>
                    <span class="quiet">ended {format.day(w.ends)}</span>
                    <Winners board={board} window={w} />
                </li>
            ))}
        </ul>
    );
}

function address(window: api.WindowInfo): Query {
    const view = api.viewOf(window);
    return { window: view.window!, id: view.window_id || '' };
}

function Winners({ board, window }: { board: Board; window: api.WindowInfo }) {
    const page = useLoad((signal) => api.top(board.id, api.viewOf(window), 3, 0, signal), [board.id, window.id]);
    if (!page.data?.entries.length) return <span class="winners quiet">{page.error ? '' : '\u00a0'}</span>;
    return (
        <ol class="winners">
            {page.data.entries.map((entry) => (
                <li key={entry.player}>
                    <span class="rank-number">{entry.rank}</span> {entry.name || entry.player} <span class="quiet">{format.score(entry.score, decimals(board))}</span>
                </li>
            ))}
        </ol>
    );
}

// ---- the player in focus ----

function Focus({ board, view, focus, me, setMe, at }: {
    board: Board; view: View; focus: string; me: string; setMe: (id: string) => void; at: (change: Query) => string }) {
    const isMe = focus !== '' && focus === me;
    return (
        <section class="card focus-card" aria-label="Player">
            <Search at={at} />
            {focus ? <FocusCard board={board} view={view} focus={focus} isMe={isMe} setMe={setMe} at={at} key={focus} />
                : <p class="quiet hint">Type a player’s id to see where they stand.<span class="keys-only"> Press <kbd>/</kbd> to come here.</span></p>}
        </section>
    );
}

function Search({ at }: { at: (change: Query) => string }) {
    const [text, set] = useState('');
    const input = useRef<HTMLInputElement>(null);
    useEffect(() => {
        const onKey = (event: KeyboardEvent) => {
            const where = event.target as HTMLElement;
            if (event.key !== '/' || event.ctrlKey || event.metaKey || /^(INPUT|TEXTAREA|SELECT)$/.test(where.tagName)) return;
            event.preventDefault();
            input.current?.focus();
        };
        addEventListener('keydown', onKey);
        return () => removeEventListener('keydown', onKey);
    }, []);
    return (
        <form class="search" role="search" onSubmit={(event) => {
            event.preventDefault();
            if (!text.trim()) return;
            location.hash = at({ player: text.trim() });
            set('');
        }}>
            <input type="search" ref={input} value={text} onInput={(event) => set(event.currentTarget.value)} placeholder="Find a player by id"
                   aria-label="Find a player by id" autocomplete="off" autocapitalize="none" spellcheck={false} />
            <button class="button" type="submit">Find</button>
        </form>
    );
}

function FocusCard({ board, view, focus, isMe, setMe, at }: {
    board: Board; view: View; focus: string; isMe: boolean; setMe: (id: string) => void; at: (change: Query) => string }) {
    const found = usePast((signal) => api.around(board.id, focus, view, 1, signal), [board.id, view, focus, useKey()], view.as_of ? 0 : 3000);
    const entry = found.data?.entry;
    const above = found.data?.above[found.data.above.length - 1];
    const name = entry?.name || focus;
    return (
        <div class="focus">
            <div class="focus-head">
                <Avatar id={focus} name={name} large />
                <div>
                    <h2><a href={href(['p', focus], { board: board.id })}>{name}</a>{isMe && <span class="you">you</span>}</h2>
                    <p class="quiet">{focus}</p>
                </div>
            </div>
            {found.percent !== null ? <Building percent={found.percent} /> : found.error ? <p class="quiet hint">{found.error.message}</p>
                : !found.busy && !found.data && <p class="quiet hint">Not ranked here: no score in this window or scope.</p>}
            {entry && found.data && (
                <>
                    <dl class="figures">
                        <Figure name="Rank" value={<Rank value={entry.rank} />} note={`of ${format.count(found.data.total)}`} />
                        <Figure name={isRating(board.update) ? 'Rating' : 'Score'} value={format.score(entry.score, decimals(board))} note={format.ago(entry.at)} />
                        <Figure name="Top" value={format.topShare(entry.rank, found.data.total)} note={`percentile ${format.percent(entry.percentile)}`} />
                    </dl>
                    {entry.rating && <RatingFigures card={entry.rating} />}
                    <p class="next">{above ? <>Next: <a href={at({ player: above.player })}>{above.name || above.player}</a>, {gap(entry, above, board)} ahead</> : 'Nobody is above.'}</p>
                    {!view.as_of && isRating(board.update) && <RatingCurve board={board} player={focus} compact />}
                    {!view.as_of && !isRating(board.update) && <RankHistory player={focus} board={board} kind={view.window || windowKinds(board)[0].kind} compact />}
                </>
            )}
            <div class="buttons">
                <button class="button small" type="button" onClick={() => setMe(isMe ? '' : focus)}>{isMe ? 'This is not me' : 'This is me'}</button>
                <a class="button small" href={at({ list: 'around', player: focus, offset: '' })}>Around</a>
                <a class="button small" href={at({ list: 'friends', player: focus, offset: '' })}>Friends</a>
            </div>
        </div>
    );
}

// The rank, said aloud when it changes.
function Rank({ value }: { value: number }) {
    return <span aria-live="polite" aria-atomic="true">{format.count(value)}</span>;
}

function gap(entry: Entry, above: Entry, board: Board): string {
    if (above.score === entry.score) return 'level, but';
    const whole = [above.score, entry.score].map(String);
    if (whole.every((text) => /^-?\d+$/.test(text))) { // exact beyond what a number holds
        const gap = BigInt(whole[0]) - BigInt(whole[1]);
        return format.score(String(gap < 0n ? -gap : gap));
    }
    const difference = Math.abs(Number(above.score) - Number(entry.score));
    return format.score(+difference.toFixed(decimals(board) ?? 3), decimals(board));
}

const PARTS = 500, BARS = 40;

function Spread({ board, view, focus, isMe }: { board: Board; view: View; focus: string; isMe: boolean }) {
    const key = useKey();
    const parts = usePast((signal) => api.distribution(board.id, view, PARTS, signal), [board.id, view, key], view.as_of ? 0 : 15000);
    const mine = usePast(focus ? (signal) => api.around(board.id, focus, view, 0, signal) : null, [board.id, view, focus, key], view.as_of ? 0 : 15000);
    const bars = useMemo(() => (parts.data ? spread(parts.data.buckets, BARS) : null), [parts.data]);
    const x = useMemo(() => (bars ? bars.counts.map((_, i) => bars.low + i * bars.width) : []), [bars]);
    const series = useMemo(() => [{ label: 'players', values: bars ? bars.counts : [] }], [bars]);
    if (!bars || parts.data!.total < 5) return null;
    const high = bars.low + bars.width * BARS;
    const at = mine.data ? Number(mine.data.entry.score) : null;
    const shown = at == null ? null : Math.min(Math.max(at, bars.low), high);
    const name = isMe ? 'you are here' : mine.data?.entry.name || focus;
    const top = bars.counts.indexOf(Math.max(...bars.counts));
    return (
        <Card title={isRating(board.update) ? 'How ratings are spread' : 'How scores are spread'}>
            <Chart kind="bars" height={170} zero whole x={x} series={series} format={(v) => format.count(v)} formatX={(v) => short(v)}
                   mark={shown != null ? { x: shown, label: at! > high ? `${name} \u2192` : at! < bars.low ? `\u2190 ${name}` : name } : null}
                   label={`Histogram of ${format.count(parts.data!.total)} scores from ${format.score(+bars.low.toPrecision(4))} to ${format.score(+high.toPrecision(4))}; most common around ${format.score(+x[top].toPrecision(4))}.`
                       + (at != null ? ` ${isMe ? 'You are' : 'The player is'} at ${format.score(at)}.` : '')} />
            {bars.isCut && <p class="quiet hint">The middle 98 %: a few scores are far outside.</p>}
        </Card>
    );
}

function short(value: number): string {
    const size = Math.abs(value);
    if (size >= 1e9) return `${+(value / 1e9).toPrecision(3)}G`;
    if (size >= 1e6) return `${+(value / 1e6).toPrecision(3)}M`;
    if (size >= 1e4) return `${+(value / 1e3).toPrecision(3)}k`;
    return format.score(+value.toPrecision(4));
}

// ---- sharing ----

function Share({ board, query }: { board: string; query: Query }) {
    const key = useKey();
    const [open, set] = useState(false);
    const panel = useRef<HTMLDivElement>(null);
    const attributes = [['board', board], ['window', query.window], ['scope', query.scope], ['player', query.player]]
        .filter(([, value]) => value).map(([name, value]) => `data-${name}="${escape(value!)}"`).join(' ');
    const line = `<script async src="${location.origin}/widget.js" ${attributes}></script>`;
    useEffect(() => {
        if (open) panel.current?.querySelector<HTMLElement>('button')?.focus();
    }, [open]);
    return (
        <div class="share" onKeyDown={(event) => event.key === 'Escape' && set(false)}>
            <button class="button" type="button" aria-expanded={open} onClick={() => set(!open)}>Share</button>
            {open && (
                <div class="popover" ref={panel} role="group" aria-label="Share">
                    <h2>This page</h2>
                    <div class="command"><code tabIndex={0}>{location.href}</code><Copy text={location.href} /></div>
                    <h2>On your own site</h2>
                    <div class="command"><code tabIndex={0}>{line}</code><Copy text={line} /></div>
                    {key && <p class="quiet">On this server the board has to be public (the setting <code>public</code>), or the line needs a key of the role read: <code>data-key="…"</code>.</p>}
                    <p class="quiet">One line, anywhere in a page. <a href={`/example.html?board=${encodeURIComponent(board)}`}>See an example</a></p>
                </div>
            )}
        </div>
    );
}

function escape(text: string): string {
    return text.replace(/&/g, '&amp;').replace(/"/g, '&quot;').replace(/</g, '&lt;');
}
