// SPDX-License-Identifier: Apache-2.0
// The HTTP interface as functions. The key, if one was typed in, lives in this tab only (sessionStorage).
import { parseExact, type Exact } from './json';
import type { BrokenRule } from './trust';

export class ApiError extends Error {
    percent: number | null = null; // of a past state that is being built

    constructor(readonly status: number, readonly code: string, message: string, readonly retryAfter = 0) {
        super(message);
    }
}

// A key that no longer holds, or one that is needed.
export function isRefused(error: Error | null): boolean {
    return error instanceof ApiError && (error.status === 401 || error.status === 403);
}

const KEY = 'rung.key';
let key = readKey();
const keyWatchers = new Set<() => void>();

function readKey(): string {
    try {
        return sessionStorage.getItem(KEY) || '';
    } catch {
        return ''; // storage is off: the key then lives as long as the page
    }
}

export function currentKey(): string {
    return key;
}

export function setKey(next: string): void {
    key = next.trim();
    try {
        if (key) sessionStorage.setItem(KEY, key);
        else sessionStorage.removeItem(KEY);
    } catch {
        // see readKey
    }
    keyWatchers.forEach((watch) => watch());
}

// For the widget: a key that came with the page, never stored.
export function lendKey(next: string): void {
    key = next;
}

export function onKeyChange(watch: () => void): () => void {
    keyWatchers.add(watch);
    return () => keyWatchers.delete(watch);
}

export function authHeaders(): Record<string, string> {
    return key ? { Authorization: `Bearer ${key}` } : {};
}

type Query = Record<string, string | number | undefined | null>;

export function address(path: (string | number)[], query: Query = {}): string {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) if (value != null && value !== '') search.set(name, String(value));
    const tail = search.toString();
    return '/v1/' + path.map((part) => encodeURIComponent(part)).join('/') + (tail ? '?' + tail : '');
}

export async function request(method: string, url: string, options: {
    body?: unknown; text?: string; type?: string; signal?: AbortSignal } = {}): Promise<any> {
    const headers: Record<string, string> = { Accept: 'application/json', ...authHeaders() };
    let body: string | undefined;
    if (options.text !== undefined) {
        body = options.text;
        headers['Content-Type'] = options.type || 'application/json';
    } else if (options.body !== undefined) {
        body = JSON.stringify(options.body);
        headers['Content-Type'] = 'application/json';
    }
    const { response, text } = await ask(url, { method, headers, body }, options.signal);
    if (!response.ok) throw problem(response, text);
    const type = response.headers.get('content-type') || '';
    return type.includes('ndjson') || !type.includes('json') ? text : parseExact(text || 'null');
}

const ANSWER_MS = 30000; // a question without an answer for so long is given up, so that it can be asked again

async function ask(url: string, init: RequestInit, outer?: AbortSignal): Promise<{ response: Response; text: string }> {
    const inner = new AbortController();
    const end = () => inner.abort();
    const late = init.method === 'GET' ? setTimeout(end, ANSWER_MS) : undefined; // a change may take its time: nobody sends it twice
    if (outer?.aborted) end();
    outer?.addEventListener('abort', end);
    try {
        const response = await fetch(url, { ...init, signal: inner.signal });
        return { response, text: await response.text() };
    } catch (error) {
        if (outer?.aborted) throw error;
        throw new ApiError(0, 'unreachable', 'The server cannot be reached.');
    } finally {
        clearTimeout(late);
        outer?.removeEventListener('abort', end);
    }
}

function problem(response: Response, text: string): ApiError {
    let code = `http_${response.status}`, message = response.statusText || `status ${response.status}`, percent = null;
    try {
        const body = JSON.parse(text);
        code = body.code || code;
        message = body.detail || body.title || message;
        percent = body.progress?.percent ?? null;
    } catch {
        // not a problem document: the status says enough
    }
    const error = new ApiError(response.status, code, message, Number(response.headers.get('retry-after')) || 0);
    error.percent = percent;
    return error;
}

const BUILD_MS = 400; // between two questions for a past state

// Asks again while the server builds the state of a past moment, and tells how far it is; null once it is there.
export async function whenBuilt<T>(load: () => Promise<T>, signal: AbortSignal, tell: (percent: number | null) => void): Promise<T> {
    for (;;) {
        try {
            const answer = await load();
            tell(null);
            return answer;
        } catch (error) {
            if (signal.aborted || !(error instanceof ApiError) || error.code !== 'as_of_building') throw error;
            tell(error.percent ?? 0);
            await new Promise((resolve) => setTimeout(resolve, BUILD_MS));
        }
    }
}

const get = (path: (string | number)[], query?: Query, signal?: AbortSignal) =>
    request('GET', address(path, query), { signal });

// ---- what the answers hold ----

export interface Column {
    name?: string;
    type: 'integer' | 'decimal' | 'real';
    order: 'desc' | 'asc';
    decimals?: number;
}

export interface Season {
    name: string;
    starts: string;
    ends: string;
}

export interface Board {
    id: string;
    title?: string;
    score: Column;
    columns: Column[];
    update: string;
    half_life?: number;
    tie?: string;
    rank?: string;
    windows: (string | Season)[];
    timezone?: string;
    day_starts?: string;
    grace?: number;
    keep?: number | Record<string, number>;
    scopes: string[];
    teams?: { by: string; combine: string } | null;
    limits?: Record<string, Exact> | null;
    writers?: string;
    rules?: { rule: string; value?: Exact; per?: number; action?: string }[];
    review?: string | null;
    review_expires?: number;
    review_outcome?: string;
    rating?: Record<string, any>;
    kind?: string; // "sketch": fixed memory, answers with a bound
    sketch?: 'counts' | 'percentile' | 'distinct';
    memory?: string | number;
    seq?: number;
}

export interface RatingCard {
    rating: number;
    deviation?: number;
    volatility?: number;
    games: number;
    wins: number;
    draws: number;
    losses: number;
    streak: number; // wins in a row; negative: losses
}

export interface Entry {
    rank: number;
    place?: number; // in live lists: the position, from 1
    player: string;
    name?: string;
    score: Exact;
    columns?: Record<string, Exact>;
    at?: string;
    percentile?: number;
    country?: string;
    attributes?: Record<string, string>;
    global_rank?: number;
    members?: number;
    rating?: RatingCard; // of a rating board
    low?: number;  // of a sketch board: the true sum is at least this,
    high?: number; // and at most this
}

// How far the answers of a sketch board can be off.
export interface SketchInfo {
    error?: number;
    counted?: number;
    memory?: number;
    distinct?: { players: number; error: number };
}

export interface Page extends SketchInfo {
    total: number;
    seq: number;
    entries: Entry[];
}

export interface Neighbourhood extends Page {
    entry: Entry;
    above: Entry[];
    below: Entry[];
}

export interface WindowInfo {
    kind: string;
    id: string;
    starts: string | null;
    ends: string | null;
    closed: boolean;
    total: number;
}

export interface Distribution extends SketchInfo {
    total: number;
    buckets: { low: number; high: number; count: number }[];
}

export interface Point {
    at: string;
    rank: number;
    score: Exact;
    kind: string; // of the window it was in
}

export interface ScopeValues {
    value_count: number; // more than are listed, perhaps
    values: { value: string; total: number }[];
}

export interface KeyInfo {
    id: string;
    role: string;
    state: 'live' | 'revoked' | 'expired';
    boards: string[];
    label: string;
    created: string;
    expires: string | null;
    revoked: string | null;
    rate: number | null;
}

export interface KeyMade extends KeyInfo {
    key: string;
}

export interface View {
    window?: string;
    window_id?: string;
    scope?: string;
    rank?: string;
    as_of?: string; // a moment of the past: a time, or a position in the log
}

// ---- boards ----

const BOARDS_MAX = 2000; // shown on one page; a server may have more

export async function boards(signal?: AbortSignal): Promise<Board[]> {
    const list: Board[] = [];
    let cursor: number | null = null;
    do {
        const page: { boards: Board[]; next: number | null } = await get(['boards'], { limit: 1000, cursor }, signal);
        list.push(...page.boards);
        cursor = page.next ?? null;
    } while (cursor !== null && list.length < BOARDS_MAX);
    return list.sort((a, b) => (a.title || a.id).localeCompare(b.title || b.id));
}

export async function board(id: string, signal?: AbortSignal, as_of?: string): Promise<Board> {
    return get(['boards', id], { as_of }, signal);
}

export const putBoard = (id: string, definition: unknown) => request('PUT', address(['boards', id]), { body: definition });
export const deleteBoard = (id: string) => request('DELETE', address(['boards', id]));

export async function top(id: string, view: View, limit: number, offset = 0, signal?: AbortSignal): Promise<Page> {
    return get(['boards', id, 'top'], { ...view, limit, offset: offset || null }, signal);
}

// A player among neighbours; null where the player is not ranked. Asked by id first: that is no error of the server's,
// and a page that watches for a player to appear does not fill the browser's log with them.
export async function around(id: string, player: string, view: View, n: number, signal?: AbortSignal): Promise<Neighbourhood | null> {
    const found: Page = await get(['boards', id, 'players'], { ...view, ids: player }, signal);
    if (found.entries.length === 0) return null;
    try {
        const page = await get(['boards', id, 'players', player], { ...view, around: n }, signal);
        return { ...page, entries: [...page.above, page.entry, ...page.below] };
    } catch (error) {
        if (error instanceof ApiError && error.status === 404) return null; // gone between the two questions
        throw error;
    }
}

export async function friends(id: string, player: string, view: View, signal?: AbortSignal): Promise<Page> {
    return get(['boards', id, 'friends', player], { ...view, limit: 1000 }, signal);
}

// The values of a scope, largest first. A window that left memory has them no more: then those of today.
export async function scopeValues(id: string, attribute: string, view: View, limit: number, signal?: AbortSignal): Promise<ScopeValues> {
    const ask = (window_id?: string) => get(['boards', id, 'scopes', attribute], { window: view.window, window_id, limit }, signal);
    try {
        return await ask(view.window_id);
    } catch (error) {
        if (view.window_id && error instanceof ApiError && error.status === 404) return ask();
        throw error;
    }
}

// Teams as entries: the team's name takes the player's place.
export async function teams(id: string, view: View, limit: number, signal?: AbortSignal): Promise<Page> {
    const page = await get(['boards', id, 'teams'], { ...view, scope: null, limit }, signal);
    return { ...page, entries: page.entries.map((entry: any) => ({ ...entry, player: entry.team })) };
}

export async function windows(id: string, signal?: AbortSignal): Promise<WindowInfo[]> {
    return (await get(['boards', id, 'windows'], { limit: 200 }, signal)).windows;
}

// How to ask for a window that was listed: seasons go by name, all others by kind and id.
export function viewOf(window: WindowInfo): View {
    return window.kind === 'season' ? { window: window.id } : { window: window.kind, window_id: window.id };
}

// Parts of equal count: where the scores are, whatever a few of them do.
export async function distribution(id: string, view: View, buckets: number, signal?: AbortSignal): Promise<Distribution> {
    const page = await get(['boards', id, 'distribution'], { ...view, buckets, by: 'count' }, signal);
    return {
        total: page.total, error: page.error, counted: page.counted, memory: page.memory, distinct: page.distinct,
        buckets: page.buckets.map((b: any) => ({ low: Number(b.low), high: Number(b.high), count: b.count })),
    };
}

export interface Mover {
    change: number; // ranks; positive: upwards
    rank_before: number;
    entry: Entry;
}

export interface Movers {
    total: number;
    from: { at: string; seq: number };
    to: { at: string; seq: number };
    compared: number;
    entered: number;
    rose: number;
    fell: number;
    risers: Mover[];
    fallers: Mover[];
}

export async function movers(id: string, view: View, since: string, limit: number, signal?: AbortSignal): Promise<Movers> {
    return get(['boards', id, 'movers'], { ...view, rank: null, since, limit }, signal);
}

// Where a score would stand on a sketch board of percentiles.
export interface Estimate extends SketchInfo {
    score: Exact;
    rank: number;
    rank_low: number;
    rank_high: number;
    percentile: number;
    percentile_low: number;
    percentile_high: number;
    total: number;
}

export const estimate = (id: string, score: string, view: View, signal?: AbortSignal): Promise<Estimate> =>
    get(['boards', id, 'at-score', score], { ...view, rank: null }, signal);

// ---- rating boards ----

export interface Forecast {
    draw: number;
    sides: { win: number; expected: number; place: number }[];
}

export const predict = (board: string, sides: string[][], signal?: AbortSignal): Promise<Forecast> =>
    request('POST', address(['boards', board, 'predict']), { body: { sides: sides.map((players) => ({ players })) }, signal });

interface MatchHead {
    match: string;
    id?: string;
    played_at: string;
    removed: boolean;
    sides: number;
    player_count: number;
    match_seq: number;
}

interface MatchPart {
    side: number;
    place: number;
    outcome: 'win' | 'draw' | 'loss';
    expected: number;
    score_before: number | null;
    score: number;
    rating_before: number;
    rating: number;
    deviation?: number;
    rank: number | null;
}

export interface Match extends MatchHead {
    players: (MatchPart & { player: string | null })[]; // the first of them
}

// A match from one player's side.
export interface Result extends MatchHead, MatchPart {
    others: { player: string | null; side: number; place: number; rating_before: number }[];
}

export async function matches(board: string, limit: number, before: string | undefined, signal?: AbortSignal): Promise<{ matches: Match[]; next: number | null }> {
    return get(['boards', board, 'matches'], { limit, before }, signal);
}

// The last matches of a player, oldest first; nothing for somebody who never played.
export async function results(board: string, player: string, limit: number, signal?: AbortSignal): Promise<Result[]> {
    try {
        return (await get(['boards', board, 'players', player, 'matches'], { limit }, signal)).results.reverse();
    } catch (error) {
        if (error instanceof ApiError && error.status === 404) return [];
        throw error;
    }
}

export interface Opponent {
    quality: number;
    expected: number;
    entry: Entry;
}

export async function opponents(board: string, player: string, view: View, n: number, signal?: AbortSignal): Promise<Opponent[]> {
    return (await get(['boards', board, 'opponents', player], { ...view, n }, signal)).opponents;
}

// ---- players ----

export interface Profile {
    name?: string;
    attributes: Record<string, string>;
    banned: boolean;
    bannedUntil?: string;
    isShadow?: boolean; // banned, without the player seeing it
    isHidden?: boolean; // who asks may see boards, but not people
}

export async function profile(player: string, signal?: AbortSignal): Promise<Profile> {
    const { profile, banned, banned_until, shadow } = await get(['players', player], {}, signal);
    const { name, avatar, ...attributes } = profile;
    return { name, attributes, banned, bannedUntil: banned_until, isShadow: Boolean(shadow) };
}

const HISTORY_DAYS = 180;

// Where the player stood, in windows of every kind, oldest first.
export async function history(player: string, board: string, signal?: AbortSignal): Promise<Point[]> {
    const from = new Date(Date.now() - HISTORY_DAYS * 86400e3).toISOString();
    const { points } = await get(['players', player, 'history'], { board, from, limit: 1000 }, signal);
    return points.map((point: any) => ({ ...point, kind: point.window.kind ?? point.window }));
}

export const ban = (player: string, body: unknown) => request('POST', address(['players', player, 'ban']), { body });
export const unban = (player: string) => request('DELETE', address(['players', player, 'ban']));

export interface BanEffect {
    board: string;
    rank: number;
    score: Exact;
    total: number;
    move_up: number;
    next: string[];
}

export const previewBan = (player: string, signal?: AbortSignal): Promise<{ boards: BanEffect[]; complete: boolean }> =>
    get(['players', player, 'ban'], {}, signal);
export const note = (player: string, text: string) => request('POST', address(['players', player, 'notes']), { body: { note: text } });

export interface Submission {
    seq: number;
    at: string;
    board: string;
    score: Exact | null;
    delta: boolean;
    outcome: string;
    reason?: string;
}

// What a player sent, newest first; null where the server does not keep it.
export async function submissions(player: string, query: { board?: string; limit: number }, signal?: AbortSignal): Promise<Submission[] | null> {
    if (!(await offers('/v1/players/{player}/submissions'))) return null;
    const raw = await get(['players', player, 'submissions'], query, signal);
    return raw.submissions.map((s: any) => ({
        seq: s.seq, at: s.at, board: s.board, score: s.score ?? s.delta ?? null, delta: s.delta != null, outcome: s.outcome, reason: s.reason,
    }));
}

// ---- reviews ----

export interface Review {
    id: string;
    seq: number;
    board: string;
    player: string;
    score?: Exact;
    delta?: Exact;
    at: string;
    submitted: string;
    expires: string;
    outcome: string;
    rules: BrokenRule[];
    standing?: { rank: number; total: number; score: Exact } | null;
    rank?: number;
    history?: { scores: number; mean: number; deviation: number; last: string };
}

export interface ReviewPage {
    reviews: Review[];
    next: string | null;
    total: number;
}

export type Verdict = 'promote' | 'reject' | 'ban';

export const reviews = (query: { board?: string; player?: string; rule?: string; limit: number }, signal?: AbortSignal): Promise<ReviewPage> =>
    get(['reviews'], query, signal);
const VERDICTS_MAX = 100; // of one request

export async function decide(verdict: Verdict, ids: string[], reason: string): Promise<{ id: string; changed: boolean; code?: string }[]> {
    const results = [];
    for (let i = 0; i < ids.length; i += VERDICTS_MAX) {
        const body = { verdict, ids: ids.slice(i, i + VERDICTS_MAX), ...(reason ? { reason } : {}) };
        results.push(...(await request('POST', address(['reviews']), { body })).results);
    }
    return results;
}

export interface Checked {
    verdict: string;
    rule: string | null;
    broken: BrokenRule[];
    rank: number | null;
}

export const check = (board: string, text: string): Promise<Checked> => request('POST', address(['boards', board, 'check']), { text });

export interface Trial {
    judged: number;
    complete: boolean;
    from?: string;
    to?: string;
    counted: number;
    flagged: number;
    tentative: number;
    refused: number;
    duplicates: number;
    other: number;
    rules: { rule: string; action: string; limit?: Exact; broken: number }[];
    limits: Record<string, number>;
    top?: number;
    examples: { seq: number; player: string; score?: Exact; delta?: Exact; at: string; verdict: string; rule: string | null; broken: number[] }[];
}

// What other rules would have said to the last submissions.
export const tryRules = (board: string, text: string): Promise<Trial> => request('POST', address(['boards', board, 'rules', 'check']), { text });

// ---- replays ----

export interface Move {
    player: string;
    rank_before: number | null;
    rank_after: number | null;
    score_before: number | string | null;
    score_after: number | string | null;
}

export interface ReplayWindow {
    window: string;
    window_id: string;
    entries_before: number;
    entries_after: number;
    moved: number;
    entered: number;
    left: number;
    rescored: number;
    same: number;
    up: Move[];
    down: Move[];
}

export interface ReplayInfo {
    state: string;
    progress?: { seq: number; of: number };
    error?: { code: string; detail: string };
    exclude?: { players: string[]; from?: string; to?: string };
    left_out?: number;
    entries?: number;
    bytes?: number;
    definition?: Board;
    report?: { seq: number; windows: ReplayWindow[]; windows_left_out: number } | null;
}

// The board's replay; nothing found where it has none.
export async function replay(board: string, signal?: AbortSignal): Promise<{ found: ReplayInfo | null }> {
    try {
        return { found: await get(['boards', board, 'replay'], {}, signal) };
    } catch (problem) {
        if (problem instanceof ApiError && problem.code === 'not_found') return { found: null };
        throw problem;
    }
}

// Everybody who moves in one window, a page at a time, up to `max`.
export async function replayMoves(board: string, view: View, max: number, tell: (count: number) => void): Promise<Move[]> {
    const moves: Move[] = [];
    for (let cursor: number | null = 0; cursor !== null && moves.length < max;) {
        const page: { moves: Move[]; next: number | null } = await get(['boards', board, 'replay', 'moves'], { ...view, limit: 1000, cursor: cursor || null });
        moves.push(...page.moves);
        tell(moves.length);
        cursor = page.next;
    }
    return moves;
}

export const beginReplay = (board: string, text: string) => request('POST', address(['boards', board, 'replay']), { text });
export const swapReplay = (board: string, undo: boolean, reason: string) =>
    request('POST', address(['boards', board, 'replay', 'swap'], { undo: String(undo), reason }));
export const dropReplay = (board: string, reason: string) => request('DELETE', address(['boards', board, 'replay'], { reason }));

// ---- keys ----

export const keys = (signal?: AbortSignal): Promise<{ keys: KeyInfo[]; can_change: boolean }> => get(['keys'], {}, signal);
export const createKey = (body: unknown): Promise<KeyMade> => request('POST', address(['keys']), { body });
export const revokeKey = (id: string): Promise<KeyInfo> => request('DELETE', address(['keys', id]));

let openapi: Promise<any> | null = null;

// Does this server have such a call ("/v1/players/{player}/submissions")?
export async function offers(path: string, method = 'get'): Promise<boolean> {
    openapi = openapi || request('GET', '/openapi.json').catch(() => (openapi = null));
    return Boolean((await openapi)?.paths?.[path]?.[method]);
}

// Does this server know such a field of a schema?
export async function describes(schema: string, field: string): Promise<boolean> {
    await offers('');
    return Boolean((await openapi)?.components?.schemas?.[schema]?.properties?.[field]);
}

export async function metrics(signal?: AbortSignal): Promise<string> {
    return request('GET', '/metrics', { signal });
}
