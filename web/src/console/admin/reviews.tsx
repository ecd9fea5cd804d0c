// SPDX-License-Identifier: Apache-2.0
// The review queue: who waits on the left, the evidence beside it, a verdict with one key.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import * as api from '../../lib/api';
import type { Board, Review, Verdict } from '../../lib/api';
import * as format from '../../lib/format';
import type { Exact } from '../../lib/json';
import { useKey, useLoad, useTitle } from '../../lib/hooks';
import { href } from '../../lib/route';
import { ACTION_DONE, evidence, excess, ruleName, RULES } from '../../lib/trust';
import { Chart, rising } from '../../ui/chart';
import { Avatar, Card, Empty, Figure, Problem } from '../../ui/parts';
import { decimals } from '../../ui/ranking';
import { Effects } from './moderation';

const PAGE = 100;
const KEYS: [string, string][] = [['J K', 'next, previous'], ['X', 'select'], ['A', 'select all, or none'], ['P', 'promote'], ['R', 'reject'], ['B', 'ban the player'],
    ['N', 'write a reason'], ['O', 'open the player'], ['?', 'this list']];
const DONE: Record<Verdict, string> = { promote: 'Promoted', reject: 'Rejected', ban: 'Banned' };
const CODES: Record<string, string> = { not_found: 'decided already', refused: 'refused', forbidden: 'this key may not' };

type Query = Record<string, string>;
const scoreOf = (review: Review): Exact | null => review.score ?? review.delta ?? null;
const shownScore = (review: Review, board?: Board) => (review.delta != null && Number(review.delta) >= 0 ? '+' : '') + format.score(scoreOf(review), decimals(board));

export function Reviews({ query }: { query: Query }) {
    useTitle('Reviews');
    const key = useKey();
    const [limit, setLimit] = useState(PAGE);
    const filter = { board: query.board, player: query.player, rule: query.rule };
    const list = useLoad((signal) => api.reviews({ ...filter, limit: Math.min(limit, 1000) }, signal), [key, query.board, query.player, query.rule, limit], 2000);
    const boards = useLoad(api.boards, [key]);
    return (
        <>
            <header class="page-head">
                <h1>Reviews{list.data && <span class="badge">{format.count(list.data.total)}</span>}</h1>
                <Filter query={query} boards={boards.data || []} />
            </header>
            {list.error && !list.data ? <Card><Problem error={list.error} retry={list.reload} /></Card>
                : !list.data ? <Card><p class="note" aria-busy="true"><span class="skeleton bar-l" /></p></Card>
                : <Queue reviews={list.data.reviews} total={list.data.total} boards={boards.data || []} query={query} reload={list.reload} more={() => setLimit(limit + PAGE)} />}
        </>
    );
}

function Filter({ query, boards }: { query: Query; boards: Board[] }) {
    const set = (name: string) => (event: { currentTarget: { value: string } }) => (location.hash = href(['admin', 'reviews'], { ...query, id: '', [name]: event.currentTarget.value.trim() }));
    return (
        <div class="review-filter" role="group" aria-label="Filter">
            <select aria-label="Board" value={query.board || ''} onChange={set('board')}>
                <option value="">All boards</option>
                {boards.map((b) => <option key={b.id} value={b.id}>{b.title || b.id}</option>)}
            </select>
            <select aria-label="Rule" value={query.rule || ''} onChange={set('rule')}>
                <option value="">All rules</option>
                {[...Object.keys(RULES), 'top'].map((rule) => <option key={rule} value={rule}>{ruleName(rule)}</option>)}
            </select>
            <input type="search" aria-label="Player" placeholder="Player" value={query.player || ''} onChange={set('player')} autocapitalize="none" spellcheck={false} />
        </div>
    );
}

function Queue({ reviews, total, boards, query, reload, more }: {
    reviews: Review[]; total: number; boards: Board[]; query: Query; reload: () => void; more: () => void }) {
    const [gone, setGone] = useState<Set<string>>(new Set()); // decided here, until the list says so
    const [current, setCurrent] = useState(query.id || '');
    const [marked, setMarked] = useState<Set<string>>(new Set());
    const [reason, setReason] = useState('');
    const [banning, setBanning] = useState(false);
    const [busy, setBusy] = useState(false);
    const [said, setSaid] = useState<{ text: string; isError: boolean } | null>(null);
    const [help, setHelp] = useState(false);
    const root = useRef<HTMLDivElement>(null);
    const place = useRef(0); // of the current one: when it is gone, the next takes its place
    const waiting = useMemo(() => reviews.filter((r) => !gone.has(r.id)), [reviews, gone]);
    const found = waiting.findIndex((r) => r.id === current);
    const at = found >= 0 ? found : Math.min(place.current, waiting.length - 1);
    place.current = Math.max(0, at);
    const review = waiting[at];
    const boardOf = (id: string) => boards.find((b) => b.id === id);
    const chosen = waiting.filter((r) => marked.has(r.id));
    const about = chosen.length ? chosen : review ? [review] : [];

    const show = (next: number, isFocused = false) => {
        const target = waiting[Math.max(0, Math.min(next, waiting.length - 1))];
        if (!target) return;
        setCurrent(target.id);
        setBanning(false);
        history.replaceState(null, '', href(['admin', 'reviews'], { ...query, id: target.id }));
        if (isFocused) requestAnimationFrame(() => root.current?.querySelector<HTMLElement>('[aria-current="true"]')?.focus());
    };
    const mark = (id: string) => setMarked((old) => {
        const next = new Set(old);
        if (!next.delete(id)) next.add(id);
        return next;
    });
    const markAll = () => setMarked(chosen.length === waiting.length ? new Set() : new Set(waiting.map((r) => r.id)));
    const decide = async (verdict: Verdict) => {
        if (about.length === 0 || busy) return;
        setBusy(true);
        try {
            // a ban decides on everything the player has waiting: one of them is enough
            const ids = verdict === 'ban' ? [...new Map(about.map((r) => [r.player, r.id])).values()] : about.map((r) => r.id);
            const results = await api.decide(verdict, ids, reason.trim());
            const failed = results.filter((r) => !r.changed && r.code !== 'not_found');
            const players = new Set(about.map((r) => r.player));
            const over = new Set(results.filter((r) => r.changed || r.code === 'not_found').map((r) => r.id));
            setGone((old) => new Set([...old, ...over, ...(verdict === 'ban' && failed.length === 0 ? waiting.filter((r) => players.has(r.player)).map((r) => r.id) : [])]));
            const what = about.length === 1 ? `${about[0].player}${verdict === 'ban' ? '' : `: ${shownScore(about[0], boardOf(about[0].board))}`}`
                : verdict === 'ban' ? `${format.count(players.size)} players` : `${format.count(over.size)} scores`;
            setSaid(failed.length ? { text: `${failed.length} of ${results.length} could not be decided: ${CODES[failed[0].code || ''] || failed[0].code}.`, isError: true }
                : { text: `${DONE[verdict]} ${what}.`, isError: false });
            setMarked(new Set());
            setBanning(false);
            setReason('');
            reload();
        } catch (problem) {
            setSaid({ text: (problem as Error).message, isError: true });
        } finally {
            setBusy(false);
        }
    };
    const latest = useRef<(event: KeyboardEvent) => void>(() => undefined);
    latest.current = (event) => {
        const where = event.target as HTMLElement;
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        if (event.key === 'Escape') {
            setBanning(false);
            setHelp(false);
            if (/^(INPUT|TEXTAREA)$/.test(where.tagName)) where.blur();
            return;
        }
        if (/^(INPUT|TEXTAREA|SELECT)$/.test(where.tagName) && (where as HTMLInputElement).type !== 'checkbox') return;
        const act: Record<string, () => void> = {
            j: () => show(at + 1, true), ArrowDown: () => show(at + 1, true), k: () => show(at - 1, true), ArrowUp: () => show(at - 1, true),
            x: () => review && mark(review.id), a: markAll, p: () => decide('promote'), r: () => decide('reject'),
            b: () => about.length > 0 && setBanning(true), n: () => root.current?.querySelector<HTMLElement>('.verdict input')?.focus(),
            o: () => review && (location.hash = href(['admin', 'player', review.player])), '?': () => setHelp((old) => !old),
        };
        const run = act[event.key.length === 1 ? event.key.toLowerCase() : event.key];
        if (!run || (event.key.startsWith('Arrow') && !root.current?.contains(where))) return;
        event.preventDefault();
        run();
    };
    useEffect(() => {
        const onKey = (event: KeyboardEvent) => latest.current(event);
        addEventListener('keydown', onKey);
        return () => removeEventListener('keydown', onKey);
    }, []);
    const tell = <p class={'said' + (said?.isError ? ' field-error' : '')} role="status">{said?.text}</p>;

    if (waiting.length === 0) {
        return (
            <Card>
                {tell}
                <Empty title={query.board || query.player || query.rule ? 'Nothing waits that fits' : 'Nothing waits'}>
                    {query.board || query.player || query.rule ? <a href={href(['admin', 'reviews'])}>Show all that wait</a>
                        : <>Scores that break a rule with the action “hold for review” wait here, and so do those that would enter the top where a board asks for it. <a href="#/admin">Choose a board to edit its rules</a></>}
                </Empty>
            </Card>
        );
    }
    return (
        <div class="reviews" ref={root}>
            <section class="card flush queue" aria-label="Waiting">
                <div class="queue-head">
                    <label><input type="checkbox" checked={chosen.length === waiting.length} onChange={markAll} /> {chosen.length ? `${chosen.length} selected` : 'All'}</label>
                    <span class="spring" />
                    <button class="button small" type="button" aria-expanded={help} onClick={() => setHelp(!help)}>Keys <kbd>?</kbd></button>
                </div>
                {help && <dl class="keys-help" aria-label="Keys">{KEYS.map(([name, what]) => <div key={name}><dt>{name.split(' ').map((k) => <kbd key={k}>{k}</kbd>)}</dt><dd>{what}</dd></div>)}</dl>}
                <ul>
                    {waiting.map((r, i) => (
                        <li key={r.id} class={r === review ? 'on' : undefined}>
                            <input type="checkbox" aria-label={`Select ${r.player}, ${shownScore(r, boardOf(r.board))}`} checked={marked.has(r.id)} onChange={() => mark(r.id)} />
                            <button type="button" aria-current={r === review ? 'true' : undefined} onClick={() => show(i)}>
                                <Avatar id={r.player} />
                                <span class="who"><strong>{r.player}</strong><small>{boardOf(r.board)?.title || r.board} · {r.rules.map((b) => ruleName(b.rule)).join(', ') || 'anomaly'}</small></span>
                                <span class="num"><strong>{shownScore(r, boardOf(r.board))}</strong><small>{format.ago(r.submitted)}</small></span>
                            </button>
                        </li>
                    ))}
                </ul>
                {total > reviews.length && reviews.length < 1000 && <p class="queue-more"><button class="button small" type="button" onClick={more}>Show more of {format.count(total)}</button></p>}
            </section>
            <div class="evidence">
                {tell}
                <section class="card verdict" aria-label="Verdict">
                    {banning ? (
                        <form onSubmit={(event) => {
                            event.preventDefault();
                            decide('ban');
                        }}>
                            <h2>If {[...new Set(about.map((r) => r.player))].slice(0, 5).join(', ')} {new Set(about.map((r) => r.player)).size > 1 ? 'are' : 'is'} banned</h2>
                            {[...new Set(about.map((r) => r.player))].slice(0, 5).map((player) => <Effects key={player} player={player} places={boards.map((board) => ({ board, found: null }))} />)}
                            <p class="quiet">None of their tentative scores counts.</p>
                            <div class="buttons">
                                <button class="button danger" type="submit" disabled={busy} autofocus>Ban {new Set(about.map((r) => r.player)).size > 1 ? `${new Set(about.map((r) => r.player)).size} players` : about[0].player}</button>
                                <button class="button" type="button" onClick={() => setBanning(false)}>Cancel</button>
                            </div>
                        </form>
                    ) : (
                        <div class="verdict-row">
                            <label class="field"><span class="hidden">Reason, for the audit trail</span>
                                <input placeholder="Reason (optional)" value={reason} maxLength={200} onInput={(event) => setReason(event.currentTarget.value)}
                                       onKeyDown={(event) => event.key === 'Enter' && event.currentTarget.blur()} /></label>
                            <div class="buttons">
                                <button class="button primary" type="button" disabled={busy} onClick={() => decide('promote')}>Promote{chosen.length > 1 ? ` ${chosen.length}` : ''} <kbd>P</kbd></button>
                                <button class="button" type="button" disabled={busy} onClick={() => decide('reject')}>Reject{chosen.length > 1 ? ` ${chosen.length}` : ''} <kbd>R</kbd></button>
                                <button class="button danger" type="button" disabled={busy} onClick={() => setBanning(true)}>Ban… <kbd>B</kbd></button>
                            </div>
                        </div>
                    )}
                </section>
                {chosen.length > 1 ? <Many chosen={chosen} boardOf={boardOf} /> : review && <Evidence review={chosen[0] || review} board={boardOf((chosen[0] || review).board)} key={(chosen[0] || review).id} />}
            </div>
        </div>
    );
}

function Many({ chosen, boardOf }: { chosen: Review[]; boardOf: (id: string) => Board | undefined }) {
    const counts = new Map<string, number>();
    for (const r of chosen) for (const b of r.rules) counts.set(b.rule, (counts.get(b.rule) || 0) + 1);
    const players = new Set(chosen.map((r) => r.player));
    return (
        <Card title={`${chosen.length} scores of ${players.size} ${players.size === 1 ? 'player' : 'players'}`}>
            <div class="scroll tall" tabIndex={0} role="region" aria-label="Selected">
                <table class="table compact">
                    <thead><tr><th scope="col">Player</th><th scope="col">Board</th><th scope="col" class="num">Score</th><th scope="col" class="num">Would be</th></tr></thead>
                    <tbody>{chosen.map((r) => (
                        <tr key={r.id}><th scope="row">{r.player}</th><td>{boardOf(r.board)?.title || r.board}</td><td class="num">{shownScore(r, boardOf(r.board))}</td><td class="num">{r.rank ? format.count(r.rank) : '–'}</td></tr>
                    ))}</tbody>
                </table>
            </div>
            <p class="hint quiet">{[...counts].map(([rule, n]) => `${ruleName(rule)}: ${n}`).join(' · ')}</p>
        </Card>
    );
}

// ---- the evidence ----

const RECENT = 40;

function Evidence({ review, board }: { review: Review; board?: Board }) {
    const sent = useLoad((signal) => api.submissions(review.player, { board: review.board, limit: RECENT }, signal).catch(() => null), [review.player, review.board, review.id, useKey()]);
    const title = board?.title || review.board;
    return (
        <Card>
            <div class="focus-head">
                <Avatar id={review.player} large />
                <div>
                    <h2><a href={href(['admin', 'player', review.player])}>{review.player}</a></h2>
                    <p class="quiet"><a href={href(['b', review.board], { player: review.player })}>{title}</a> · sent {format.when(review.submitted)}{review.at !== review.submitted ? `, for ${format.when(review.at)}` : ''}</p>
                </div>
            </div>
            <dl class="figures">
                <Figure name={review.delta != null ? 'Added' : 'Score'} value={shownScore(review, board)} note={review.standing ? `stands at ${format.score(review.standing.score, decimals(board))}` : 'the first here'} />
                <Figure name="Would be" value={review.rank ? format.count(review.rank) : '–'} note={review.rank ? (review.standing ? `now ${format.count(review.standing.rank)} of ${format.count(review.standing.total)}` : 'not ranked now') : 'no change of rank'} />
                <Figure name="If nobody decides" value={review.outcome === 'promote' ? 'counts' : 'rejected'} note={format.ago(review.expires)} />
            </dl>
            <h3>Why it waits</h3>
            {review.rules.length === 0 ? <p class="quiet">It breaks no rule that is still known.</p> : (
                <ul class="broken">
                    {review.rules.map((b, i) => (
                        <li key={i}>
                            <span><strong>{ruleName(b.rule)}</strong> <span class={'action ' + b.action}>{ACTION_DONE[b.action] || b.action}</span></span>
                            <span class="fact">{evidence(b)}</span>
                            <Excess part={excess(b)} />
                        </li>
                    ))}
                </ul>
            )}
            {review.history && review.score != null && <Form review={review} board={board} />}
            <Recent review={review} board={board} sent={sent.data} busy={sent.busy} />
        </Card>
    );
}

// From the limit on: how far beyond it, on a scale to ten times.
function Excess({ part }: { part: number | null }) {
    if (part == null) return null;
    return (
        <svg class="excess" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
            <rect class="within" width={30} height={4} /><rect class="beyond" x={30} width={Math.max(1, part * 70)} height={4} />
        </svg>
    );
}

// The player's usual range as a band, with the score on the same line.
function Form({ review, board }: { review: Review; board?: Board }) {
    const { mean, deviation, scores } = review.history!;
    const value = Number(review.score), d = deviation * 1.2533; // as the rules have it: the mean distance, made comparable
    if (!Number.isFinite(value) || scores < 2) return null;
    const low = Math.min(mean - 3.5 * d, value), high = Math.max(mean + 3.5 * d, value), span = (high - low || 1) * 1.06, from = low - (span - (high - low)) / 2;
    const x = (score: number) => 1000 * (score - from) / span;
    const off = d > 0 ? (value - mean) / d : null;
    const say = (n: number) => format.score(+n.toPrecision(4), undefined);
    const text = `${off == null ? '' : `${format.score(+Math.abs(off).toFixed(1))} deviations ${off < 0 ? 'below' : 'above'} the player’s mean. `}`;
    return (
        <>
            <h3>Against the player’s own {format.count(scores)} scores</h3>
            <svg class="own-range" viewBox="0 0 1000 44" preserveAspectRatio="none" role="img" aria-label={`${text}Mean ${say(mean)}, deviation ${say(d)}.`}>
                <rect class="wide-band" x={x(mean - 3 * d)} y={14} width={Math.max(2, x(mean + 3 * d) - x(mean - 3 * d))} height={16} />
                <rect class="band" x={x(mean - d)} y={14} width={Math.max(2, x(mean + d) - x(mean - d))} height={16} />
                <line class="axis" x1={0} x2={1000} y1={30} y2={30} />
                <line class="mean" x1={x(mean)} x2={x(mean)} y1={10} y2={34} />
                <line class="this" x1={x(value)} x2={x(value)} y1={4} y2={40} />
            </svg>
            <p class="quiet hint">{text}Usually {say(mean)} ± {say(d)}; this is {shownScore(review, board)}.</p>
        </>
    );
}

function Recent({ review, board, sent, busy }: { review: Review; board?: Board; sent: api.Submission[] | null; busy: boolean }) {
    const past = useMemo(() => (sent || []).filter((s) => s.score != null && !s.delta).slice().reverse(), [sent]);
    const x = useMemo(() => rising(past.map((s) => Date.parse(s.at) / 1000)), [past]);
    const series = useMemo(() => [
        { label: 'accepted', values: past.map((s) => (s.outcome === 'accepted' || s.outcome === 'unchanged' ? Number(s.score) : null)), points: true },
        { label: 'not counted', values: past.map((s) => (s.outcome === 'refused' || s.outcome === 'tentative' ? Number(s.score) : null)), points: true, none: true, warn: true },
    ], [past]);
    if (!sent) return busy ? <p class="note" aria-busy="true"><span class="skeleton bar-l" /></p> : null;
    if (sent.length === 0) return <p class="quiet hint">Nothing else of this player is in the archive.</p>;
    return (
        <>
            <h3>What {review.player} sent here</h3>
            {past.length > 2 && <>
                <Chart time height={150} x={x} series={series} format={(v) => format.score(+v.toPrecision(4))}
                       label={`${past.length} scores over time, the last ${format.score(past[past.length - 1].score, decimals(board))}.`} />
                <p class="legend two"><span>counted</span><span class="warn-dot">refused or waiting</span></p>
            </>}
            <div class="scroll short" tabIndex={0} role="region" aria-label="Submissions, newest first">
                <table class="table compact">
                    <thead><tr><th scope="col">When</th><th scope="col" class="num">Sent</th><th scope="col">Outcome</th></tr></thead>
                    <tbody>
                        {sent.slice(0, 12).map((s) => (
                            <tr key={s.seq} class={s.seq === review.seq ? 'this' : undefined}>
                                <td title={format.when(s.at)}>{format.ago(s.at)}</td>
                                <td class="num">{s.delta && Number(s.score) >= 0 ? '+' : ''}{format.score(s.score, decimals(board))}</td>
                                <td>{s.outcome}{s.reason && s.reason !== s.outcome && <> <span class="quiet">{s.reason.replace(/_/g, ' ')}</span></>}</td>
                            </tr>
                        ))}
                    </tbody>
                </table>
            </div>
        </>
    );
}
