// SPDX-License-Identifier: Apache-2.0
// A file of scores, sent piece by piece: bounded memory for any size, progress, and every refusal with its line.
import { useRef, useState } from 'preact/hooks';
import * as api from '../../lib/api';
import * as format from '../../lib/format';
import { useKey, useTitle } from '../../lib/hooks';
import { importFile, type Progress } from '../../lib/importer';
import { Card, Command, Empty } from '../../ui/parts';
import { KeyNote } from './boards';

const SHOWN_REFUSALS = 200;

export function Import() {
    useTitle('Import');
    const key = useKey();
    const [file, setFile] = useState<File | null>(null);
    const [board, setBoard] = useState('');
    const [progress, set] = useState<Progress | null>(null);
    const [error, setError] = useState('');
    const stop = useRef<AbortController | null>(null);
    const isCsv = file ? /\.csv$/i.test(file.name) : false;
    const running = progress !== null && !progress.done && !error;
    const start = async () => {
        if (!file) return;
        setError('');
        stop.current = new AbortController();
        try {
            await importFile(file, isCsv, board.trim(), (text) => api.request('POST', '/v1/scores', { text, type: 'application/x-ndjson', signal: stop.current!.signal }),
                set, SHOWN_REFUSALS, stop.current.signal);
        } catch (problem) {
            setError((problem as Error).name === 'AbortError' ? 'Stopped. Lines sent so far are in; with an id on every line the file can simply be sent again.' : (problem as Error).message);
        }
    };
    return (
        <>
            <header class="page-head"><h1>Import</h1></header>
            {!key && <KeyNote />}
            <div class="columns">
                <div class="main-column">
                    <Card title="Send a file of scores">
                        <form onSubmit={(event) => {
                            event.preventDefault();
                            start();
                        }}>
                            <label class="field"><span>File <small>NDJSON or CSV</small></span>
                                <input type="file" accept=".csv,.ndjson,.jsonl,.json,text/csv" onChange={(event) => {
                                    setFile(event.currentTarget.files?.[0] || null);
                                    set(null);
                                    setError('');
                                }} /></label>
                            <label class="field"><span>Board <small>for lines that name none</small></span>
                                <input value={board} autocapitalize="none" spellcheck={false} onInput={(event) => setBoard(event.currentTarget.value)} /></label>
                            <div class="buttons">
                                <button class="button primary" type="submit" disabled={!file || running}>Import</button>
                                {running && <button class="button" type="button" onClick={() => stop.current?.abort()}>Stop</button>}
                            </div>
                        </form>
                        {progress && <Meter progress={progress} />}
                        {error && <p class="field-error" role="alert">{error}</p>}
                    </Card>
                    {progress && (progress.refused > 0 || progress.done) && (
                        <Card title="Refused lines" flush>
                            {progress.refusals.length === 0 ? <Empty title="None">Every line was accepted.</Empty> : (
                                <div class="scroll tall" tabIndex={0} role="region" aria-label="Lines and reasons">
                                    <table class="table">
                                        <thead><tr><th scope="col" class="num">Line</th><th scope="col">Why</th></tr></thead>
                                        <tbody>{progress.refusals.map((r) => <tr key={r.line}><td class="num">{format.count(r.line)}</td><td>{r.why}</td></tr>)}</tbody>
                                    </table>
                                </div>
                            )}
                        </Card>
                    )}
                </div>
                <aside class="side-column" aria-label="Formats">
                    <Card title="What a file looks like">
                        <h3>NDJSON</h3>
                        <div class="command"><code tabIndex={0}>{'{"board":"race","player":"ada","score":4200,"id":"run-1"}'}</code></div>
                        <h3>CSV</h3>
                        <div class="command"><code tabIndex={0}>{'player,score,at,id\nada,4200,2026-11-15T12:00:00Z,run-1'}</code></div>
                        <p class="quiet">With an <code>id</code> on every line a file can be sent twice and counts once.</p>
                        <h3>From a terminal</h3>
                        <Command>rung import scores.csv --board race</Command>
                    </Card>
                </aside>
            </div>
        </>
    );
}

function Meter({ progress }: { progress: Progress }) {
    const share = progress.size ? progress.sent / progress.size : 1;
    const left = progress.rate > 0 && share > 0 && share < 1 ? (progress.elapsed / share) * (1 - share) : 0;
    return (
        <div class="meter">
            <progress max={1} value={progress.done ? 1 : share} aria-label="Import" />
            <dl class="figures">
                <div class="figure"><dt>Accepted</dt><dd>{format.count(progress.accepted)}</dd></div>
                <div class="figure"><dt>Refused</dt><dd>{format.count(progress.refused)}</dd></div>
                <div class="figure"><dt>Lines per second</dt><dd>{format.count(progress.rate)}</dd></div>
                <div class="figure"><dt>{progress.done ? 'Took' : 'Left'}</dt><dd>{format.seconds(progress.done ? progress.elapsed : left)}</dd></div>
            </dl>
            <p class="hidden" role="status">{progress.done ? `Done: ${progress.accepted} accepted, ${progress.refused} refused` : ''}</p>
        </div>
    );
}
