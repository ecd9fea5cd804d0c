// SPDX-License-Identifier: Apache-2.0
// What only rating boards have: the record of a player, good opponents, what to expect of a match.
import { useMemo, useState } from 'preact/hooks';
import * as api from '../lib/api';
import type { Board, RatingCard, View } from '../lib/api';
import * as format from '../lib/format';
import { isRating } from '../lib/definition';
import { useKey, useLoad, useOffers, type Load } from '../lib/hooks';
import { href } from '../lib/route';
import { Chart, rising } from '../ui/chart';
import { Avatar, Card, Empty, Figure, Problem } from '../ui/parts';
import { decimals } from '../ui/ranking';

const share = (part: number) => `${Math.round(part * 100)}\u202f%`;
export const streak = (n: number) => (n > 0 ? `${n} won` : n < 0 ? `${-n} lost` : '–');

export function RatingFigures({ card }: { card: RatingCard }) {
    const all = Math.max(card.games, 1);
    return (
        <>
            <dl class="figures rating-figures">
                <Figure name="Games" value={format.count(card.games)} note={streak(card.streak) === '–' ? undefined : `last ${streak(card.streak)}`} />
                <Figure name="Won" value={share(card.wins / all)} note={`${card.wins} – ${card.draws} – ${card.losses}`} />
                {card.deviation != null && <Figure name="Uncertainty" value={`±${format.score(+card.deviation.toFixed(1))}`} note={`rating ${format.score(+card.rating.toFixed(1))}`} />}
            </dl>
            <Record wins={card.wins} draws={card.draws} losses={card.losses} />
        </>
    );
}

// Won, drawn, lost as one bar.
export function Record({ wins, draws, losses }: { wins: number; draws: number; losses: number }) {
    return <Parts label={`${wins} won, ${draws} drawn, ${losses} lost`} parts={[[wins, 'won'], [draws, 'drawn'], [losses, 'lost']]} />;
}

const LEAST = 1.2; // percent: what is there is seen

// Shares of a whole. An SVG, since the page allows no styles of its own.
export function Parts({ label, parts }: { label: string; parts: [number, string][] }) {
    const total = parts.reduce((sum, [n]) => sum + n, 0) || 1;
    const small = parts.filter(([n]) => n > 0 && 100 * n / total < LEAST), rest = total - small.reduce((sum, [n]) => sum + n, 0);
    const scale = (100 - LEAST * small.length) / (rest || 1);
    let at = 0;
    return (
        <svg class="parts" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label={label}>
            {parts.map(([n, name], i) => {
                const width = n > 0 ? Math.max(LEAST, scale * n) : 0, x = at;
                at += width;
                return <rect key={name + i} class={name} x={x} y={0} width={Math.max(0, width - 0.3)} height={6} />;
            })}
        </svg>
    );
}

export function Opponents({ board, view, focus, at }: { board: Board; view: View; focus: string; at: (change: Record<string, string>) => string }) {
    const load = useLoad((signal) => api.opponents(board.id, focus, { window: view.window, window_id: view.window_id, scope: view.scope }, 5, signal), [board.id, view, focus, useKey()]);
    if (load.error || !load.data) return null; // a window that is over has none
    return (
        <Card title={`Good opponents of ${focus}`}>
            {load.data.length === 0 ? <p class="quiet">Nobody else plays here.</p> : (
                <ol class="opponents">
                    {load.data.map(({ quality, expected, entry }) => (
                        <li key={entry.player}>
                            <Avatar id={entry.player} name={entry.name} />
                            <span class="who"><a href={at({ player: entry.player })}>{entry.name || entry.player}</a><small>{format.score(entry.score, decimals(board))}, expects {share(1 - expected)}</small></span>
                            <span class="num" title="How good the match would be">{share(quality)}<small>match quality</small></span>
                        </li>
                    ))}
                </ol>
            )}
        </Card>
    );
}

const names = (text: string) => text.split(',').map((name) => name.trim()).filter(Boolean);
const SIDES_MAX = 8;

// What the ratings say about a match that was not played yet.
export function Predict({ board, focus }: { board: Board; focus: string }) {
    const [sides, setSides] = useState(['', '']);
    const [asked, setAsked] = useState<string[][] | null>(null);
    const shown = sides.map((text, i) => (i === 0 && text === '' ? focus : text));
    const answer = useLoad(asked ? (signal) => api.predict(board.id, asked, signal) : null, [board.id, asked, useKey()]);
    const lineup = shown.map(names);
    const ready = lineup.every((side) => side.length > 0);
    return (
        <Card title="What if they played?">
            <form class="predict" onSubmit={(event) => {
                event.preventDefault();
                if (ready) setAsked(lineup);
            }}>
                {shown.map((text, i) => (
                    <label class="field" key={i}><span>Side {i + 1} {i === 0 && <small>players, with commas between</small>}</span>
                        <input value={text} autocapitalize="none" spellcheck={false} placeholder="player id"
                               onInput={(event) => setSides(sides.map((old, j) => (j === i ? event.currentTarget.value : old)))} /></label>
                ))}
                <div class="buttons">
                    <button class="button primary" type="submit" disabled={!ready}>Predict</button>
                    {sides.length < SIDES_MAX && <button class="button" type="button" onClick={() => setSides([...sides, ''])}>Add a side</button>}
                    {sides.length > 2 && <button class="button" type="button" onClick={() => setSides(sides.slice(0, -1))}>Remove one</button>}
                </div>
            </form>
            <div aria-live="polite">
                {answer.error ? <Problem error={answer.error} /> : answer.data && asked && <Outcome forecast={answer.data} sides={asked} />}
            </div>
        </Card>
    );
}

function Outcome({ forecast, sides }: { forecast: api.Forecast; sides: string[][] }) {
    if (sides.length === 0) return <Empty title="Nobody plays" />;
    const called = sides.map((side) => (side.length > 2 ? `${side[0]} and ${side.length - 1} more` : side.join(' and ')));
    const draw = Math.max(0, 1 - forecast.sides.reduce((sum, side) => sum + side.win, 0));
    const two = sides.length === 2;
    const parts: [number, string][] = two ? [[forecast.sides[0].win, 'won'], [draw, 'drawn'], [forecast.sides[1].win, 'lost']]
        : forecast.sides.map((side, i) => [side.win, i % 2 ? 'lost' : 'won']);
    return (
        <div class="outcome">
            <Parts label={called.map((name, i) => `${name} wins with ${share(forecast.sides[i].win)}`).join(', ')} parts={parts} />
            <ul>
                {called.map((name, i) => (
                    <li key={i}><span>{name}</span><strong>{share(forecast.sides[i].win)}</strong>{!two && <small>expected place {forecast.sides[i].place.toFixed(1)}</small>}</li>
                ))}
                {draw >= 0.005 && <li class="quiet"><span>{two ? 'Draw' : 'First place shared'}</span><strong>{share(draw)}</strong></li>}
            </ul>
        </div>
    );
}

// ---- matches ----

const CURVE = 400; // matches of a player
const OUTCOMES: Record<string, string> = { win: 'Won', draw: 'Drew', loss: 'Lost' };

function useResults(board: Board, player: string): Load<api.Result[]> {
    const has = useOffers('/v1/boards/{board}/players/{player}/matches');
    return useLoad(has && isRating(board.update) ? (signal) => api.results(board.id, player, CURVE, signal) : null, [board.id, player, has, useKey()], 5000);
}

// The rating after each match, with twice the deviation as a band.
export function RatingCurve({ board, player, compact }: { board: Board; player: string; compact?: boolean }) {
    const load = useResults(board, player);
    return load.data && load.data.length > 1 ? <Curve results={load.data} compact={compact} />
        : compact || !load.data ? null : <Empty title={load.data.length ? 'One match so far' : 'No matches yet'}>The curve begins with the second match.</Empty>;
}

function Curve({ results, compact }: { results: api.Result[]; compact?: boolean }) {
    const x = useMemo(() => rising(results.map((r) => Date.parse(r.played_at) / 1000)), [results]);
    const hasBand = results.some((r) => r.deviation != null);
    const series = useMemo(() => [
        ...(hasBand ? [
            { label: 'to', values: results.map((r) => r.rating + 2 * (r.deviation || 0)), accent: false },
            { label: 'from', values: results.map((r) => r.rating - 2 * (r.deviation || 0)), accent: false },
        ] : []),
        { label: 'rating', values: results.map((r) => r.rating) }, // the last: the band is drawn under it
    ], [results]);
    const last = results[results.length - 1], best = Math.max(...results.map((r) => r.rating));
    const show = (n: number) => format.score(+n.toPrecision(5));
    return (
        <figure class="history">
            <figcaption class="quiet">Rating after each of {format.count(results.length)} matches{hasBand ? ', with two deviations either way' : ''}; best {show(best)}</figcaption>
            <Chart time height={compact ? 130 : 260} x={x} series={series} band={hasBand ? [0, 1] : undefined} format={show}
                   label={`Rating over ${results.length} matches: best ${show(best)}, now ${show(last.rating)}${last.deviation != null ? ` plus or minus ${show(2 * last.deviation)}` : ''}.`} />
        </figure>
    );
}

const SHOWN = 25;

// A player's last matches, newest first.
export function MatchList({ board, player, titled }: { board: Board; player: string; titled?: boolean }) {
    const load = useResults(board, player);
    const [limit, setLimit] = useState(SHOWN);
    if (!load.data?.length) return null;
    const list = load.data.slice().reverse();
    return (
        <Card title={titled ? `Matches on ${board.title || board.id}` : 'Matches'} flush>
            <div class="scroll" tabIndex={0} role="region" aria-label="Matches, newest first">
                <table class="table matches">
                    <thead><tr><th scope="col">When</th><th scope="col">Result</th><th scope="col">Against</th><th scope="col" class="num">Expected</th><th scope="col" class="num">Rating</th><th scope="col" class="num">Rank</th></tr></thead>
                    <tbody>
                        {list.slice(0, limit).map((r) => (
                            <tr key={r.match_seq} class={r.removed ? 'removed' : undefined}>
                                <td class="when" title={format.when(r.played_at)}>{format.ago(r.played_at)}</td>
                                <td><span class={'run ' + (r.outcome === 'win' ? 'won' : r.outcome === 'loss' ? 'lost' : '')}>{OUTCOMES[r.outcome] || r.outcome}</span>{r.sides > 2 && <small>place {r.place} of {r.sides}</small>}{r.removed && <small>removed</small>}</td>
                                <td><Others result={r} board={board} /></td>
                                <td class="num">{share(r.expected)}</td>
                                <td class="num">{format.score(+r.rating.toFixed(1))}<small><Change by={r.rating - r.rating_before} /></small></td>
                                <td class="num">{format.count(r.rank)}</td>
                            </tr>
                        ))}
                    </tbody>
                </table>
            </div>
            {list.length > limit && <p class="queue-more"><button class="button small" type="button" onClick={() => setLimit(limit + 4 * SHOWN)}>Show more</button></p>}
        </Card>
    );
}

function Change({ by }: { by: number }) {
    const n = format.score(+Math.abs(by).toFixed(1));
    return <span class={'move ' + (by > 0 ? 'up' : 'down')}>{by > 0 ? '+' : by < 0 ? '\u2212' : ''}{n}</span>;
}

function Others({ result, board }: { result: api.Result; board: Board }) {
    const name = (player: string | null) => (player ? <a href={href(['p', player], { board: board.id })}>{player}</a> : <span class="quiet">removed</span>);
    const rest = result.player_count - 1 - result.others.length;
    const list = (of: api.Result['others']) => of.map((o, i) => <span key={i}>{i > 0 && ', '}{name(o.player)}</span>);
    const mates = result.others.filter((o) => o.side === result.side), against = result.others.filter((o) => o.side !== result.side);
    return <>{list(against)}{rest > 0 && ` and ${rest} more`}{mates.length > 0 && <small>with {list(mates)}</small>}</>;
}

// The board's last matches.
export function Matches({ board, query, at }: { board: Board; query: Record<string, string>; at: (change: Record<string, string>) => string }) {
    const load = useLoad((signal) => api.matches(board.id, SHOWN, query.before, signal), [board.id, query.before, useKey()], query.before ? 0 : 3000);
    if (load.error && !load.data) return <Problem error={load.error} retry={load.reload} />;
    if (!load.data) return <p class="note" aria-busy="true"><span class="skeleton bar-l" /></p>;
    if (load.data.matches.length === 0) return <Empty title="No matches yet">The first result will appear here at once.</Empty>;
    return (
        <>
            <ol class="match-feed">
                {load.data.matches.map((match) => <MatchRow key={match.match_seq} match={match} at={at} />)}
            </ol>
            <footer class="list-foot">
                {query.before && <a class="button small" href={at({ before: '' })}>Newest</a>}
                <span class="spring" />
                {load.data.next != null && <a class="button small" href={at({ before: String(load.data.next) })}>Older</a>}
            </footer>
        </>
    );
}

function MatchRow({ match, at }: { match: api.Match; at: (change: Record<string, string>) => string }) {
    const sides = [...new Set(match.players.map((p) => p.side))].map((side) => match.players.filter((p) => p.side === side)).sort((a, b) => a[0].place - b[0].place);
    const rest = match.player_count - match.players.length;
    return (
        <li class={match.removed ? 'removed' : undefined}>
            <span class="quiet when" title={format.when(match.played_at)}>{format.ago(match.played_at)}{match.removed && <small>removed</small>}</span>
            <ul>
                {sides.map((side) => (
                    <li key={side[0].side}>
                        <span class={'run ' + (side[0].outcome === 'win' ? 'won' : side[0].outcome === 'loss' ? 'lost' : '')}>{match.sides > 2 ? side[0].place : OUTCOMES[side[0].outcome]}</span>
                        <span class="who">{side.map((p, i) => <span key={i}>{i > 0 && ', '}{p.player ? <a href={at({ player: p.player, list: '', before: '' })}>{p.player}</a> : 'removed'} <Change by={p.rating - p.rating_before} /></span>)}</span>
                        <span class="quiet num">{share(side[0].expected)} expected</span>
                    </li>
                ))}
                {rest > 0 && <li class="quiet">and {rest} more players</li>}
            </ul>
        </li>
    );
}
