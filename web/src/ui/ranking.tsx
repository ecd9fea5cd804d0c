// SPDX-License-Identifier: Apache-2.0
// A ranking that moves: rows slide to their new places, arrows tell who rose or fell a moment ago. A table to screen
// readers, one grid row per entry to the eye.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Board, Entry } from '../lib/api';
import * as format from '../lib/format';
import { freshMoves, type Move } from '../lib/moves';

const ARROW_MS = 20000;
const calm = () => matchMedia('(prefers-reduced-motion: reduce)').matches;

export interface RankingProps {
    label: string;
    entries: Entry[];
    board?: Board | null;
    me?: string;         // the visitor: marked "you"
    focus?: string;      // the player looked at: highlighted
    link?: (entry: Entry) => string | undefined;
    sub?: (entry: Entry) => string | undefined;
    what?: string;       // the heading over names
    showTime?: boolean;
    moves?: boolean;     // false: another page of entries, nothing has moved
}

export function Ranking({ label, entries, board, me, focus, link, sub, what = 'Player', showTime = true, moves = true }: RankingProps) {
    const list = useRef<HTMLDivElement>(null);
    const arrows = useArrows(entries, moves);
    useSlides(list, entries, moves);
    const onKey = (event: KeyboardEvent) => {
        const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
        if (!step || !list.current) return;
        const links = [...list.current.querySelectorAll<HTMLElement>('a.name')];
        const at = links.indexOf(document.activeElement as HTMLElement);
        if (at < 0 || !links[at + step]) return;
        event.preventDefault();
        links[at + step].focus();
    };
    const isRated = entries.some((entry) => entry.rating);
    return (
        <div class={'ranking' + (showTime ? '' : ' no-time') + (isRated ? ' rated' : '')} role="table" aria-label={label} ref={list} onKeyDown={onKey}>
            <div role="rowgroup">
                <div class="row head" role="row">
                    <span class="rank" role="columnheader">Rank</span>
                    <span role="presentation" />
                    <span class="who" role="columnheader">{what}</span>
                    {isRated && <span class="record" role="columnheader">Won–drawn–lost</span>}
                    {isRated && <span class="streak" role="columnheader">Streak</span>}
                    <span class="score" role="columnheader">{isRated ? 'Rating' : scoreHeading(board)}</span>
                    {showTime && <span class="time" role="columnheader">Reached</span>}
                </div>
            </div>
            <div role="rowgroup">
                {entries.map((entry) => (
                    <Row key={entry.player} entry={entry} board={board} isMe={entry.player === me} isFocus={entry.player === focus} move={arrows.get(entry.player)}
                         href={link?.(entry)} sub={sub?.(entry)} showTime={showTime} isRated={isRated} />
                ))}
            </div>
        </div>
    );
}

function Row({ entry, board, isMe, isFocus, move, href, sub, showTime, isRated }: {
    entry: Entry; board?: Board | null; isMe: boolean; isFocus: boolean; move?: Move; href?: string; sub?: string; showTime: boolean; isRated: boolean }) {
    const name = entry.name || entry.player;
    const columns = columnValues(entry, board);
    return (
        <div class={'row' + (entry.rank === 1 ? ' first' : '') + (isMe || isFocus ? ' is-me' : '')} role="row" data-id={entry.player}>
            <span class="rank" role="cell">
                <span class="rank-number">{format.count(entry.rank)}</span>
                <Arrow move={move} />
            </span>
            <span class={`avatar hue-${format.hue(entry.player)}`} role="presentation" aria-hidden="true">{format.initials(name)}</span>
            <span class="who" role="cell">
                {href ? <a class="name" href={href}>{name}{isMe && <span class="you">you</span>}</a>
                    : <span class="name">{name}{isMe && <span class="you">you</span>}</span>}
                {sub && <span class="sub">{sub}</span>}
            </span>
            {isRated && <span class="record" role="cell">{entry.rating && `${format.count(entry.rating.wins)}–${format.count(entry.rating.draws)}–${format.count(entry.rating.losses)}`}</span>}
            {isRated && <span class="streak" role="cell"><Streak n={entry.rating?.streak || 0} /></span>}
            <span class="score" role="cell">
                {format.score(entry.score, decimals(board))}
                {entry.rating?.deviation != null && <span class="more" title="The deviation: how uncertain the rating is">±{format.score(+entry.rating.deviation.toFixed(1))}</span>}
                {columns && <span class="more">{columns}</span>}
            </span>
            {showTime && <span class="time" role="cell" title={entry.at ? format.when(entry.at) : undefined}>{format.ago(entry.at)}</span>}
        </div>
    );
}

function Streak({ n }: { n: number }) {
    if (n === 0) return <span class="quiet-dash">–</span>;
    return <span class={'run ' + (n > 0 ? 'won' : 'lost')}><span aria-hidden="true">{n > 0 ? 'W' : 'L'}{Math.abs(n)}</span><span class="hidden">{Math.abs(n)} {n > 0 ? 'won' : 'lost'} in a row</span></span>;
}

function Arrow({ move }: { move?: Move }) {
    if (!move) return <span class="move" />;
    const n = Math.abs(move.by);
    return (
        <span class={'move ' + (move.by > 0 ? 'up' : 'down')}>
            <span aria-hidden="true">{move.by > 0 ? '▲' : '▼'}{n}</span>
            <span class="hidden">{move.by > 0 ? `up ${n}` : `down ${n}`}</span>
        </span>
    );
}

export function decimals(board?: Board | null): number | undefined {
    if (!board) return undefined;
    if (board.update === 'decay') return 2; // it fades as one looks: more would only flicker
    return board.score.type === 'decimal' ? board.score.decimals ?? 0 : undefined;
}

function scoreHeading(board?: Board | null): string {
    if (!board) return 'Score';
    return board.score.name || 'Score';
}

function columnValues(entry: Entry, board?: Board | null): string {
    if (!board?.columns.length || !entry.columns) return '';
    return board.columns.map((column) => {
        const value = entry.columns![column.name || ''];
        return value == null ? '' : `${column.name || 'then'} ${format.score(value, column.type === 'decimal' ? column.decimals : undefined)}`;
    }).filter(Boolean).join(' · ');
}

function useArrows(entries: Entry[], on: boolean): Map<string, Move> {
    const ranks = useRef(new Map<string, number>());
    const arrows = useRef(new Map<string, Move>());
    const seen = useRef<Entry[] | null>(null);
    const [, tick] = useState(0);
    if (seen.current !== entries) {
        arrows.current = on ? freshMoves(ranks.current, entries, arrows.current, Date.now(), ARROW_MS) : new Map();
        ranks.current = new Map(entries.map((entry) => [entry.player, entry.rank]));
        seen.current = entries;
    }
    useEffect(() => {
        const timer = setInterval(() => {
            const before = arrows.current.size;
            arrows.current = new Map([...arrows.current].filter(([, move]) => Date.now() - move.at < ARROW_MS));
            if (arrows.current.size !== before) tick((n) => n + 1);
        }, 2000);
        return () => clearInterval(timer);
    }, []);
    return arrows.current;
}

// What is new when a player scored. Not the score where there is a time: on boards that fade it changes by itself.
const mark = (entry: Entry) => entry.at ?? entry.score;

// First-last-invert-play: where a row was and where it is now, the way between as an animation.
function useSlides(list: { current: HTMLElement | null }, entries: Entry[], on: boolean): void {
    const places = useRef(new Map<string, number>());
    const scores = useRef(new Map<string, unknown>());
    useLayoutEffect(() => {
        const root = list.current;
        if (!root) return;
        const rows = [...root.querySelectorAll<HTMLElement>('[data-id]')];
        const origin = root.getBoundingClientRect().top;
        const next = new Map<string, number>();
        const moving = on && places.current.size > 0 && !calm() && !document.hidden;
        for (const row of rows) {
            const id = row.dataset.id!;
            const place = row.offsetTop;
            next.set(id, place);
            if (!moving) continue;
            const before = places.current.get(id);
            if (before === undefined) {
                row.animate([{ opacity: 0 }, { opacity: 1 }], { duration: 300, easing: 'ease-out' });
            } else if (before !== place) {
                const underway = row.getBoundingClientRect().top - origin - place; // a slide not finished yet
                row.style.zIndex = before > place ? '2' : '1';
                row.animate([{ transform: `translateY(${before - place + underway}px)` }, { transform: 'none' }],
                    { duration: 480, easing: 'cubic-bezier(.2,.8,.2,1)' }).finished
                    .then(() => (row.style.zIndex = ''), () => undefined);
            }
        }
        if (moving) {
            for (const entry of entries) {
                const before = scores.current.get(entry.player);
                if (before === undefined || before === mark(entry)) continue;
                rows.find((row) => row.dataset.id === entry.player)?.querySelector('.score')
                    ?.animate([{ color: 'var(--accent)' }, { color: 'inherit' }], { duration: 1600, easing: 'ease-in' });
            }
        }
        places.current = next;
        scores.current = new Map(entries.map((entry) => [entry.player, mark(entry)]));
    }, [entries]);
}

export function RankingSkeleton({ rows = 10 }: { rows?: number }) {
    return (
        <div class="ranking" aria-busy="true">
            <span class="hidden">Loading</span>
            {Array.from({ length: rows }, (_, i) => (
                <div class="row" key={i} aria-hidden="true">
                    <span class="skeleton bar-s" />
                    <span class="skeleton avatar" />
                    <span class={`skeleton bar-m w-${i % 4}`} />
                    <span class="skeleton bar-s" />
                </div>
            ))}
        </div>
    );
}
