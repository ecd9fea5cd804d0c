// SPDX-License-Identifier: Apache-2.0
// The front page: every board with who leads it.
import { boards, distribution, top, type Board } from '../lib/api';
import { useKey, useLoad, useTitle } from '../lib/hooks';
import * as format from '../lib/format';
import { href } from '../lib/route';
import { rules } from '../lib/rules';
import { Avatar, Card, Empty, Problem } from '../ui/parts';
import { decimals } from '../ui/ranking';
import { Filter, More, useShown } from '../ui/shown';

const SHOWN = 24; // each asks for its leaders

export function Boards() {
    useTitle('Boards');
    const key = useKey();
    const list = useLoad(boards, [key]);
    const shown = useShown(list.data, SHOWN);
    return (
        <>
            <header class="page-head"><h1>Boards</h1><span class="spring" /><Filter shown={shown} /></header>
            {list.error ? <Card><Problem error={list.error} retry={list.reload} /></Card>
                : !list.data ? <div class="board-grid" aria-busy="true">{[0, 1, 2].map((i) => <div class="card skeleton-card skeleton" key={i} />)}</div>
                : list.data.length === 0 ? <Card><Empty title="No boards yet">A board comes to life with its definition. <a href="#/admin/new">Create the first one</a></Empty></Card>
                : <ul class="board-grid">{shown.boards.map((b) => <li key={b.id}><BoardCard board={b} /></li>)}</ul>}
            <More shown={shown} />
        </>
    );
}

function BoardCard({ board }: { board: Board }) {
    const hasTop = board.sketch !== 'percentile';
    const first = useLoad(hasTop ? (signal) => top(board.id, {}, 3, 0, signal) : null, [board.id], 10000);
    return (
        <article class="card board-card">
            <h2><a href={href(['b', board.id])}>{board.title || board.id}</a></h2>
            <p class="quiet">{rules(board)}</p>
            {first.data && first.data.entries.length === 0 && board.sketch !== 'distinct' && <p class="quiet board-none">Nobody has a score yet.</p>}
            {!hasTop && <Quarters board={board} />}
            <ol>
                {first.data?.entries.map((entry) => (
                    <li key={entry.player}>
                        <span class="rank-number">{format.count(entry.rank)}</span>
                        <Avatar id={entry.player} name={entry.name} />
                        <span class="name">{entry.name || entry.player}</span>
                        <span class="value">{format.score(entry.score, decimals(board))}</span>
                    </li>
                ))}
                {hasTop && !first.data && !first.error && [0, 1, 2].map((i) => <li key={i} aria-hidden="true"><span class="skeleton bar-l" /></li>)}
            </ol>
            {hasTop && <p class="quiet board-foot">{first.data?.distinct ? `about ${format.count(first.data.distinct.players)} players` : first.data ? `${format.count(first.data.total)} ${first.data.total === 1 ? 'player' : 'players'}` : '\u00a0'}</p>}
        </article>
    );
}

// Of a board without entries: where its scores are.
function Quarters({ board }: { board: Board }) {
    const parts = useLoad((signal) => distribution(board.id, {}, 4, signal), [board.id], 10000);
    if (!parts.data) return null;
    const edges = parts.data.buckets.map((b) => Math.max(b.low, b.high)).sort((a, b) => b - a);
    const names = ['Best', 'A quarter is above', 'Half is above'];
    return (
        <>
            {parts.data.total > 0 ? <dl class="quarters">{names.map((name, i) => edges[i] !== undefined && <div key={name}><dt>{name}</dt><dd>{format.score(edges[i], decimals(board))}</dd></div>)}</dl>
                : <p class="quiet board-none">Nobody has a score yet.</p>}
            <p class="quiet board-foot">{format.count(parts.data.total)} {parts.data.total === 1 ? 'score' : 'scores'}</p>
        </>
    );
}
