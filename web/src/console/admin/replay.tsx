// SPDX-License-Identifier: Apache-2.0
// A board computed again from the log: what to leave out or change, who would move, swap, undo, drop.
import { useState } from 'preact/hooks';
import * as api from '../../lib/api';
import * as format from '../../lib/format';
import { useKey, useLoad, useTitle } from '../../lib/hooks';
import { href } from '../../lib/route';
import { Card, Command, Problem } from '../../ui/parts';
import { KeyNote } from './boards';

const STATES: Record<string, string> = {
    reading: 'Reading the log…',
    filling: 'Filling the shadow…',
    ready: 'Ready. Nothing has changed yet.',
    swapped: 'Swapped in. The old content follows in the background until it is dropped.',
    failed: 'Failed.',
    unattended: 'Not complete, and not the work of this server.',
};

export function Replay({ id }: { id: string }) {
    useTitle(`Replay ${id}`);
    const key = useKey();
    const load = useLoad((signal) => api.replay(id, signal), [id, key], 1000);
    const [reason, setReason] = useState('');
    const [error, setError] = useState('');
    const act = async (what: () => Promise<unknown>) => {
        setError('');
        try {
            await what();
            load.reload();
        } catch (problem) {
            setError((problem as Error).message);
        }
    };
    const replay = load.data?.found;
    const why = reason.trim();
    return (
        <>
            <header class="page-head"><h1>Replay <a href={href(['b', id])}>{id}</a></h1></header>
            {!key && <KeyNote />}
            <div class="columns">
                <div class="main-column">
                    {load.error && !load.data ? <Card><Problem error={load.error} retry={load.reload} /></Card>
                        : !load.data ? <Card><p class="note" aria-busy="true"><span class="skeleton bar-l" /></p></Card>
                        : !replay || replay.state === 'failed' ? <Begin id={id} failed={replay?.error?.detail} act={act} />
                        : <>
                            <Card title="State">
                                <p role="status">{STATES[replay.state]}{replay.state === 'reading' && replay.progress?.seq ? ` ${format.count(replay.progress.seq)} of ${format.count(replay.progress.of)} records` : ''}</p>
                                {replay.exclude && replay.exclude.players.length > 0 && <p class="quiet">Without {replay.exclude.players.slice(0, 10).join(', ')}{replay.exclude.players.length > 10 ? ` and ${format.count(replay.exclude.players.length - 10)} more` : ''}.</p>}
                                {(replay.state === 'ready' || replay.state === 'swapped') && (
                                    <label class="field"><span>Reason <small>for the audit trail, optional</small></span>
                                        <input value={reason} maxLength={200} onInput={(event) => setReason(event.currentTarget.value)} /></label>
                                )}
                                <div class="buttons">
                                    {replay.state === 'ready' && <button class="button primary" type="button" onClick={() => act(() => api.swapReplay(id, false, why))}>Swap in</button>}
                                    {replay.state === 'swapped' && <button class="button primary" type="button" onClick={() => act(() => api.swapReplay(id, true, why))}>Undo</button>}
                                    <button class="button danger" type="button" onClick={() => act(() => api.dropReplay(id, why))}>{replay.state === 'swapped' ? 'Drop the old content' : 'Drop'}</button>
                                </div>
                            </Card>
                            {replay.report ? replay.report.windows.map((window) => <Window key={window.window_id} window={window} />)
                                : replay.state === 'ready' && <Card title="Who moves"><p class="note" aria-busy="true">Comparing…</p></Card>}
                        </>}
                    {error && <p class="field-error" role="alert">{error}</p>}
                </div>
                <aside class="side-column" aria-label="About">
                    <Card title="What this does">
                        <p class="quiet">The board is computed again from the log, beside the board, which goes on. A swap puts the result in its place in one step and can be undone at any time, until the other one is dropped.</p>
                        <h3>Everybody who moves</h3>
                        <Command>{`rung replay moves ${id}`}</Command>
                    </Card>
                </aside>
            </div>
        </>
    );
}

function Begin({ id, failed, act }: { id: string; failed?: string; act: (what: () => Promise<unknown>) => void }) {
    const [players, setPlayers] = useState('');
    const [from, setFrom] = useState('');
    const [to, setTo] = useState('');
    const [definition, setDefinition] = useState('');
    const begin = () => act(() => {
        const names = players.split(/[\s,]+/).filter(Boolean);
        const exclude = { ...(names.length ? { players: names } : {}), ...(from.trim() ? { from: from.trim() } : {}), ...(to.trim() ? { to: to.trim() } : {}) };
        return api.beginReplay(id, {
            ...(definition.trim() ? { definition: JSON.parse(definition) } : {}),
            ...(Object.keys(exclude).length ? { exclude } : {}),
        });
    });
    return (
        <Card title="Compute it again">
            {failed && <p class="field-error" role="alert">The last one failed: {failed}</p>}
            <form onSubmit={(event) => {
                event.preventDefault();
                begin();
            }}>
                <label class="field"><span>Without players <small>ids, separated by spaces or commas</small></span>
                    <input value={players} autocapitalize="none" spellcheck={false} onInput={(event) => setPlayers(event.currentTarget.value)} /></label>
                <label class="field"><span>Without submissions from <small>a time such as 2026-11-15T14:00:00Z</small></span>
                    <input value={from} spellcheck={false} onInput={(event) => setFrom(event.currentTarget.value)} /></label>
                <label class="field"><span>to <small>not included</small></span>
                    <input value={to} spellcheck={false} onInput={(event) => setTo(event.currentTarget.value)} /></label>
                <label class="field"><span>Another definition <small>JSON, optional</small></span>
                    <textarea rows={4} value={definition} spellcheck={false} onInput={(event) => setDefinition(event.currentTarget.value)} /></label>
                <div class="buttons"><button class="button primary" type="submit">Preview</button></div>
            </form>
        </Card>
    );
}

function Window({ window }: { window: api.ReplayWindow }) {
    return (
        <Card title={`Who moves: ${window.window_id}`}>
            <dl class="figures">
                <div class="figure"><dt>Players</dt><dd>{format.count(window.entries_before)} → {format.count(window.entries_after)}</dd></div>
                <div class="figure"><dt>Move</dt><dd>{format.count(window.moved)}</dd></div>
                <div class="figure"><dt>Enter</dt><dd>{format.count(window.entered)}</dd></div>
                <div class="figure"><dt>Leave</dt><dd>{format.count(window.left)}</dd></div>
            </dl>
            {window.up.length + window.down.length > 0 && (
                <div class="scroll" tabIndex={0} role="region" aria-label={`Largest changes of ${window.window_id}`}>
                    <table class="table">
                        <thead><tr><th scope="col">Player</th><th scope="col" class="num">Rank before</th><th scope="col" class="num">after</th><th scope="col" class="num">Score before</th><th scope="col" class="num">after</th></tr></thead>
                        <tbody>
                            {[...window.up, ...window.down].map((move) => (
                                <tr key={move.player}>
                                    <th scope="row"><a href={href(['admin', 'player', move.player])}>{move.player}</a></th>
                                    <td class="num">{format.count(move.rank_before)}</td>
                                    <td class="num">{format.count(move.rank_after)}</td>
                                    <td class="num">{String(move.score_before)}</td>
                                    <td class="num">{String(move.score_after)}</td>
                                </tr>
                            ))}
                        </tbody>
                    </table>
                </div>
            )}
        </Card>
    );
}
