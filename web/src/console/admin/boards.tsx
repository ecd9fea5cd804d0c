// SPDX-License-Identifier: Apache-2.0
// The operator's list: every board with size, rate and memory.
import { useEffect, useRef, useState } from 'preact/hooks';
import * as api from '../../lib/api';
import * as format from '../../lib/format';
import { useKey, useLoad, useTitle } from '../../lib/hooks';
import { parseMetrics, total, type Sample } from '../../lib/metrics';
import { href } from '../../lib/route';
import { rules, windowKinds } from '../../lib/rules';
import { Card, Empty, KeyForm, Problem } from '../../ui/parts';
import { Filter, More, useShown } from '../../ui/shown';

interface Reading {
    at: number;
    samples: Sample[];
}

// Readings of /metrics, one every `everyMs`; the last and the one before.
export function useReadings(everyMs: number): { now: Reading | null; before: Reading | null; error: Error | null } {
    const key = useKey();
    const [state, set] = useState<{ now: Reading | null; before: Reading | null }>({ now: null, before: null });
    const load = useLoad(async (signal) => ({ at: Date.now(), samples: parseMetrics(await api.metrics(signal)) }), [key], everyMs);
    const last = useRef<Reading | null>(null);
    useEffect(() => {
        if (!load.data || load.data === last.current) return;
        const before = last.current;
        last.current = load.data;
        set({ now: load.data, before });
    }, [load.data]);
    return { ...state, error: load.error };
}

// Per second between two readings; null before there are two, or where a counter started anew.
export function perSecond(now: Reading | null, before: Reading | null, name: string, labels: Record<string, string> = {}): number | null {
    if (!now || !before) return null;
    const b = total(now.samples, name, labels), a = total(before.samples, name, labels) ?? 0;
    return b == null || b < a ? null : (b - a) / ((now.at - before.at) / 1000);
}

const SHOWN = 50; // each asks for its size

export function AdminBoards() {
    useTitle('Operate');
    const key = useKey();
    const list = useLoad(api.boards, [key], 5000);
    const shown = useShown(list.data, SHOWN);
    const { now, before, error } = useReadings(2000);
    if (api.isRefused(error)) { // a visitor's list of public boards would be there all the same
        return <><header class="page-head"><h1>Boards</h1></header><Card><Problem error={error!} /></Card></>;
    }
    return (
        <>
            <header class="page-head"><h1>Boards</h1><span class="spring" /><Filter shown={shown} /><a class="button primary" href="#/admin/new">New board</a></header>
            {!key && list.data && <KeyNote />}
            <Card flush>
                {list.error && !list.data ? <Problem error={list.error} retry={list.reload} />
                    : !list.data ? <p class="note" aria-busy="true"><span class="skeleton bar-l" /></p>
                    : list.data.length === 0 ? <Empty title="No boards yet"><a href="#/admin/new">Create the first one</a></Empty> : (
                    <div class="scroll">
                        <table class="table">
                            <thead><tr><th scope="col">Board</th><th scope="col">Windows</th><th scope="col" class="num">Players</th><th scope="col" class="num">Scores/s</th><th scope="col" class="num">Memory</th><th scope="col"><span class="hidden">Actions</span></th></tr></thead>
                            <tbody>
                                {shown.boards.map((board) => (
                                    <tr key={board.id}>
                                        <th scope="row"><a href={href(['b', board.id])}>{board.title || board.id}</a><small>{board.id} · {rules(board)}</small></th>
                                        <td>{windowKinds(board).map((w) => w.kind).join(', ')}</td>
                                        <td class="num"><Size board={board} /></td>
                                        <td class="num">{format.rate(perSecond(now, before, 'rung_board_submissions_total', { board: board.id }))}</td>
                                        <td class="num">{format.bytes(now ? total(now.samples, 'rung_board_bytes', { board: board.id }) : null)}</td>
                                        <td class="num"><a href={href(['admin', 'edit', board.id])}>Edit<span class="hidden"> {board.title || board.id}</span></a>{board.kind !== 'sketch' && <> · <a href={href(['admin', 'replay', board.id])}>Replay<span class="hidden"> {board.title || board.id}</span></a></>}</td>
                                    </tr>
                                ))}
                            </tbody>
                        </table>
                    </div>
                )}
            </Card>
            <More shown={shown} />
            <PlayerSearch />
        </>
    );
}

function Size({ board }: { board: api.Board }) {
    const page = useLoad<{ total: number } & api.SketchInfo>((signal) => (board.sketch === 'percentile' ? api.distribution(board.id, {}, 2, signal) : api.top(board.id, {}, 1, 0, signal)),
        [board.id, useKey()], 5000);
    return <>{page.data?.distinct ? `~${format.count(page.data.distinct.players)}` : format.count(page.data?.total)}</>;
}

function PlayerSearch() {
    const [text, set] = useState('');
    return (
        <Card title="Players">
            <form class="search narrow" role="search" onSubmit={(event) => {
                event.preventDefault();
                if (text.trim()) location.hash = href(['admin', 'player', text.trim()]);
            }}>
                <input type="search" value={text} placeholder="Player id" aria-label="Player id" autocapitalize="none" spellcheck={false}
                       onInput={(event) => set(event.currentTarget.value)} />
                <button class="button" type="submit">Open</button>
            </form>
            <p class="quiet hint">All boards of a player, submissions and their outcome, ban and unban.</p>
        </Card>
    );
}

// On a server without keys everything is open; with keys an admin key is asked for here rather than at the first refusal.
export function KeyNote() {
    return (
        <details class="key-note">
            <summary>No key in use</summary>
            <KeyForm why="A server that has keys wants an admin key for what is done here. A server without keys (on this machine only) wants none. The key stays in this tab and is forgotten when the tab is closed." />
        </details>
    );
}
