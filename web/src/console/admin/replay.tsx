// SPDX-License-Identifier: Apache-2.0
// A board computed again from the log: what to leave out or change, who would move, swap, undo, drop.
import { useEffect, useState } from 'preact/hooks';
import * as api from '../../lib/api';
import type { Board, Move, ReplayInfo, ReplayWindow } from '../../lib/api';
import { csvTable } from '../../lib/csv';
import { difference } from '../../lib/audit';
import { bodyOf, formOf, mistakes } from '../../lib/definition';
import * as format from '../../lib/format';
import { useKey, useLoad, useTitle } from '../../lib/hooks';
import { href } from '../../lib/route';
import { Building, Card, Command, Empty, Figure, Moment, Problem, save, Tabs } from '../../ui/parts';
import { Parts } from '../rating';
import { decimals } from '../../ui/ranking';
import { Definition } from './board_editor';
import { KeyNote } from './boards';

export function Replay({ id, query }: { id: string; query: Record<string, string> }) {
    useTitle(`Replay ${id}`);
    const key = useKey();
    const [isHere, setHere] = useState(true); // where there is none, nothing is asked until one begins
    const load = useLoad((signal) => api.replay(id, signal), [id, key, isHere], isHere ? 1000 : 0);
    useEffect(() => {
        if (load.data) setHere(load.data.found !== null);
    }, [load.data]);
    const board = useLoad((signal) => api.board(id, signal), [id, key]);
    const [error, setError] = useState('');
    const act = async (what: () => Promise<unknown>) => {
        setError('');
        try {
            await what();
            setHere(true);
            load.reload();
            board.reload();
        } catch (problem) {
            setError((problem as Error).message);
        }
    };
    const replay = load.data?.found;
    const isGoing = replay && replay.state !== 'failed';
    return (
        <>
            <header class="page-head"><h1>Replay <a href={href(['b', id])}>{board.data?.title || id}</a></h1></header>
            {!key && <KeyNote />}
            {board.error ? <Card><Problem error={board.error} retry={board.reload} what={`There is no board “${id}”`} /></Card>
                : load.error && !load.data ? <Card><Problem error={load.error} retry={load.reload} /></Card>
                : !load.data || !board.data ? <Card><p class="note" aria-busy="true"><span class="skeleton bar-l" /></p></Card>
                : (
                <div class="columns">
                    <div class="main-column">
                        {!isGoing ? <Begin board={board.data} failed={replay?.error?.detail} act={act} error={error} />
                            : <>
                                <Steps state={replay.state} />
                                {error && <p class="field-error" role="alert">{error}</p>}
                                <Report id={id} replay={replay} board={board.data} query={query} />
                            </>}
                    </div>
                    <aside class="side-column" aria-label="Replay">
                        {isGoing && <Control id={id} replay={replay} board={board.data} act={act} />}
                        <Card title="What this does">
                            <p class="quiet">The board is computed again from the log, beside the board, which goes on. Nothing changes for players until it is swapped in. A swap puts all windows, scopes and teams in place in one step, and can be undone until the other content is dropped.</p>
                            <h3>On the command line</h3>
                            <Command>{`rung replay show ${id}`}</Command>
                        </Card>
                    </aside>
                </div>
            )}
        </>
    );
}

// ---- where it is ----

const STEPS = ['Read the log', 'Compare', 'Swap in'];

function Steps({ state }: { state: string }) {
    const at = state === 'ready' ? 2 : state === 'swapped' ? 3 : 0;
    return (
        <ol class="steps" aria-label="Progress">
            {STEPS.map((name, i) => (
                <li key={name} class={i < at ? 'done' : i === at ? 'now' : undefined} aria-current={i === at ? 'step' : undefined}><span aria-hidden="true">{i < at ? '✓' : i + 1}</span> {i === 2 && state === 'swapped' ? 'Swapped in' : name}</li>
            ))}
        </ol>
    );
}

function Control({ id, replay, board, act }: { id: string; replay: ReplayInfo; board: Board; act: (what: () => Promise<unknown>) => void }) {
    const [reason, setReason] = useState('');
    const [sure, setSure] = useState('');
    useEffect(() => setSure(''), [replay.state]);
    const why = reason.trim();
    const isDone = replay.state === 'ready' || replay.state === 'swapped';
    const exclude = replay.exclude;
    const changes = replay.definition ? (difference(board, replay.definition) || []).filter((d) => d.field !== 'seq') : [];
    return (
        <Card title={replay.state === 'swapped' ? 'Swapped in' : replay.state === 'ready' ? 'Ready' : 'Under way'}>
            <p role="status">{replay.state === 'swapped' ? 'Players see the new content. The old one goes on in the background, so this can be undone.'
                : replay.state === 'ready' ? 'Nothing has changed for anybody yet.'
                : replay.state === 'unattended' ? 'Not complete, and not the work of this server: ask the one that began it, or drop it.' : 'The board goes on as it is meanwhile.'}</p>
            <dl class="facts">
                {exclude && exclude.players.length > 0 && <div><dt>Without</dt><dd>{exclude.players.slice(0, 8).join(', ')}{exclude.players.length > 8 ? ` and ${format.count(exclude.players.length - 8)} more` : ''}</dd></div>}
                {exclude?.from && <div><dt>Not from</dt><dd>{format.moment(exclude.from)}</dd></div>}
                {exclude?.to && <div><dt>{exclude.from ? 'to' : 'Not before'}</dt><dd>{format.moment(exclude.to)}</dd></div>}
                {replay.left_out != null && <div><dt>Left out</dt><dd>{format.count(replay.left_out)} {replay.left_out === 1 ? 'submission' : 'submissions'}</dd></div>}
                {changes.map((d) => <div key={d.field}><dt>{d.field}</dt><dd><del>{d.before || '–'}</del> <ins>{d.after || '–'}</ins></dd></div>)}
                {replay.bytes != null && <div><dt>Memory</dt><dd>{format.bytes(replay.bytes)}</dd></div>}
            </dl>
            {isDone && (
                <label class="field"><span>Reason <small>for the audit trail, optional</small></span>
                    <input value={reason} maxLength={200} onInput={(event) => setReason(event.currentTarget.value)} /></label>
            )}
            <div class="buttons">
                {replay.state === 'ready' && <button class="button primary" type="button" onClick={() => act(() => api.swapReplay(id, false, why))}>Swap in</button>}
                {replay.state === 'swapped' && <button class="button primary" type="button" onClick={() => act(() => api.swapReplay(id, true, why))}>Undo</button>}
                {sure === 'drop' ? <button class="button danger" type="button" onClick={() => act(() => api.dropReplay(id, why))}>{replay.state === 'swapped' ? 'Drop it: no undo any more' : 'Really drop it'}</button>
                    : <button class="button danger" type="button" onClick={() => (replay.state === 'swapped' || replay.state === 'ready' ? setSure('drop') : act(() => api.dropReplay(id, why)))}>{replay.state === 'swapped' ? 'Drop the old content…' : isDone ? 'Drop…' : 'Stop'}</button>}
            </div>
        </Card>
    );
}

// ---- beginning one ----

const ids = (text: string) => text.split(/[\s,]+/).filter(Boolean);

function Begin({ board, failed, act, error }: { board: Board; failed?: string; act: (what: () => Promise<unknown>) => void; error: string }) {
    const [players, setPlayers] = useState('');
    const [from, setFrom] = useState('');
    const [to, setTo] = useState('');
    const [form, setForm] = useState(() => formOf(board));
    const [was] = useState(() => bodyOf(formOf(board)));
    const [tried, setTried] = useState(false);
    const names = ids(players);
    const isChanged = bodyOf(form) !== was;
    const wrong = mistakes(form);
    const isEmpty = names.length === 0 && !from && !to && !isChanged;
    const isBackwards = Boolean(from && to && Date.parse(from) >= Date.parse(to));
    const begin = () => {
        setTried(true);
        if (isEmpty || isBackwards || (isChanged && Object.keys(wrong).length)) return;
        const exclude = { ...(names.length ? { players: names } : {}), ...(from ? { from } : {}), ...(to ? { to } : {}) };
        const parts = [...(isChanged ? [`"definition":${bodyOf(form)}`] : []), ...(Object.keys(exclude).length ? [`"exclude":${JSON.stringify(exclude)}`] : [])];
        act(() => api.beginReplay(board.id, `{${parts.join(',')}}`));
    };
    return (
        <form class="begin" onSubmit={(event) => {
            event.preventDefault();
            begin();
        }} noValidate>
            <Card title="What if…">
                {failed && <p class="field-error" role="alert">The last replay failed: {failed}</p>}
                <label class="field"><span>These players had never played <small>ids, with spaces or commas between</small></span>
                    <textarea rows={2} value={players} autocapitalize="none" spellcheck={false} onInput={(event) => setPlayers(event.currentTarget.value)} /></label>
                <div class="span-row">
                    <Moment label="Nothing had counted from" value={from} onChange={setFrom} />
                    <Moment label="to" help="not included" value={to} onChange={setTo} />
                </div>
                {isBackwards && <p class="field-error" role="alert">The span ends before it begins.</p>}
            </Card>
            <details class="redefine">
                <summary>The board had another definition{isChanged ? <span class="badge">changed</span> : ''}</summary>
                <p class="quiet">Every field can change here, also those that are fixed on a living board: all submissions since the board was made count again under the new one.</p>
                <div class="editor"><Definition form={form} set={(change) => setForm((old) => ({ ...old, ...change }))} wrong={tried ? wrong : {}} /></div>
            </details>
            {error && <p class="field-error" role="alert">{error}</p>}
            <div class="save-bar">
                <button class="button primary" type="submit" disabled={isEmpty}>Preview</button>
                <span class="quiet">{isEmpty ? 'Say what should be different.' : 'Nothing changes yet.'}</span>
            </div>
        </form>
    );
}

// ---- who moves ----

function Report({ id, replay, board, query }: { id: string; replay: ReplayInfo; board: Board; query: Record<string, string> }) {
    const { progress, report } = replay;
    if (replay.state === 'reading' || replay.state === 'filling') {
        const percent = progress?.of ? Math.min(99, Math.floor(100 * progress.seq / progress.of)) : null;
        return <Card title="Who moves"><Building percent={replay.state === 'filling' ? 99 : percent} what={replay.state === 'filling' ? 'Filling the new rankings' : progress?.seq ? `Reading event ${format.count(progress.seq)} of ${format.count(progress.of)}` : 'Reading the log'} /></Card>;
    }
    if (!report) return replay.state === 'unattended' ? <Card><Empty title="Not known here">The server that began the replay knows how far it is.</Empty></Card> : <Card title="Who moves"><Building percent={null} what="Comparing every player’s rank" /></Card>;
    const shown = report.windows.find((w) => w.window + w.window_id === query.window) || report.windows[0];
    if (!shown) return <Card><Empty title="No windows">The board has nothing to compare.</Empty></Card>;
    const title = replay.state === 'swapped' ? 'Who moved' : 'Who would move';
    return (
        <section class="card flush" aria-label={title}>
            <header class="card-head"><h2>{title}</h2></header>
            {report.windows.length > 1 && <Tabs label="Window" quiet items={report.windows.map((w) => ({
                name: format.windowId(w.window_id), href: href(['admin', 'replay', id], { window: w.window + w.window_id }), on: w === shown }))} />}
            <Window id={id} window={shown} board={replay.definition || board} state={replay.state} key={shown.window + shown.window_id} />
            {report.windows_left_out > 0 && <p class="note">And {format.count(report.windows_left_out)} more windows.</p>}
        </section>
    );
}

const EXPORT_MAX = 200000;

function Window({ id, window, board, state }: { id: string; window: ReplayWindow; board: Board; state: string }) {
    const [count, setCount] = useState<number | null>(null);
    const [said, setSaid] = useState('');
    const touched = window.moved + window.entered + window.left + window.rescored;
    const run = async () => {
        setSaid('');
        setCount(0);
        try {
            const view = window.window === window.window_id ? { window: window.window } : { window: window.window, window_id: window.window_id };
            const moves = await api.replayMoves(id, view, EXPORT_MAX, setCount);
            save(`replay-${id}-${window.window_id}.csv`, 'text/csv', csvTable(['player', 'rank_before', 'rank_after', 'score_before', 'score_after'],
                moves.map((m) => [m.player, m.rank_before, m.rank_after, m.score_before, m.score_after])));
            setSaid(`${format.count(moves.length)} players.`);
        } catch (problem) {
            setSaid((problem as Error).message);
        } finally {
            setCount(null);
        }
    };
    return (
        <div class="replay-window">
            <dl class="figures five">
                <Figure name="Players" value={format.count(window.entries_after)} note={window.entries_after === window.entries_before ? 'as before' : `before ${format.count(window.entries_before)}`} />
                <Figure name="Other rank" value={format.count(window.moved)} />
                <Figure name="Other score" value={format.count(window.rescored)} note="same rank" />
                <Figure name="New here" value={format.count(window.entered)} />
                <Figure name="Gone" value={format.count(window.left)} />
            </dl>
            <Parts label={`${window.same} of ${window.same + touched} players stay as they are`} parts={[[window.moved, 'won'], [window.rescored, 'drawn'], [window.entered, 'new'], [window.left, 'gone'], [window.same, 'lost']]} />
            <p class="legend five"><span>other rank</span><span class="drawn">other score</span><span class="new">new</span><span class="gone">gone</span><span class="quiet-line">as they were ({format.count(window.same)})</span></p>
            {touched === 0 ? <Empty title="Nobody moves">In this window everything stays as it is.</Empty> : (
                <>
                    <div class="movers">
                        <Moves title="Largest rises" moves={window.up} board={board} none="Nobody rises." />
                        <Moves title="Largest falls" moves={window.down} board={board} none="Nobody falls." />
                    </div>
                    <div class="buttons export">
                        <button class="button" type="button" disabled={count !== null} onClick={run}>Everybody who {state === 'swapped' ? 'moved' : 'moves'}, as CSV</button>
                        <span class="quiet" role="status">{count !== null ? `${format.count(count)} read…` : said}</span>
                    </div>
                </>
            )}
        </div>
    );
}

function Moves({ title, moves, board, none }: { title: string; moves: Move[]; board: Board; none: string }) {
    return (
        <section aria-label={title}>
            <h3>{title}</h3>
            {moves.length === 0 ? <p class="quiet">{none}</p> : (
                <ol class="plain">
                    {moves.map((move) => {
                        const by = move.rank_before != null && move.rank_after != null ? move.rank_before - move.rank_after : null;
                        const isUp = by == null ? move.rank_before == null : by > 0;
                        return (
                            <li key={move.player}>
                                <span class={'move ' + (isUp ? 'up' : 'down')}><span aria-hidden="true">{isUp ? '▲' : '▼'}</span><span class="hidden">{isUp ? 'up ' : 'down '}</span>{by == null ? '' : format.count(Math.abs(by))}</span>
                                <span class="who"><a href={href(['admin', 'player', move.player])}>{move.player}</a><small>{move.score_before !== move.score_after ? `${format.score(move.score_before, decimals(board))} → ${format.score(move.score_after, decimals(board))}` : format.score(move.score_after, decimals(board))}</small></span>
                                <span class="num"><span class="quiet">{move.rank_before == null ? 'new' : format.count(move.rank_before)} →</span> <strong>{move.rank_after == null ? 'gone' : format.count(move.rank_after)}</strong></span>
                            </li>
                        );
                    })}
                </ol>
            )}
        </section>
    );
}
