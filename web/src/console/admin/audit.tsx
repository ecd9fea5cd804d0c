// SPDX-License-Identifier: Apache-2.0
// Who changed what, when and why, from the archive; filtered, and as a file.
import { useState } from 'preact/hooks';
import * as audit from '../../lib/audit';
import type { AuditFilter, AuditRecord } from '../../lib/audit';
import * as format from '../../lib/format';
import { useKey, useLoad, useTitle } from '../../lib/hooks';
import { href } from '../../lib/route';
import { Card, Empty, Problem } from '../../ui/parts';

const PAGE = 100;
const NAMES = ['board', 'player', 'actor', 'kind', 'from', 'to'] as const;

// The filter is in the address.
function filterOf(query: Record<string, string>): AuditFilter {
    const filter: AuditFilter = {};
    for (const name of NAMES) if (query[name]) filter[name] = query[name];
    return filter;
}

export function Audit({ query }: { query: Record<string, string> }) {
    useTitle('Audit');
    const filter = filterOf(query);
    const list = useLoad((signal) => audit.page(filter, PAGE, query.after, signal), [useKey(), JSON.stringify(query)]);
    return (
        <>
            <header class="page-head"><h1>Audit</h1></header>
            <div class="columns">
                <div class="main-column">
                    <Card flush>
                        {list.error && !list.data ? <Problem error={list.error} retry={list.reload} />
                            : !list.data ? <p class="note" aria-busy="true"><span class="skeleton bar-l" /></p>
                            : list.data.records.length === 0 ? <Empty title="No records">Nothing was changed that fits.</Empty>
                            : <Records records={list.data.records} />}
                        {list.data?.next && <p class="note"><a href={href(['admin', 'audit'], { ...filter, after: list.data.next })}>Older records</a></p>}
                    </Card>
                </div>
                <aside class="side-column" aria-label="Filter and export">
                    <Filter key={JSON.stringify(filter)} filter={filter} />
                    <Export filter={filter} />
                </aside>
            </div>
        </>
    );
}

const who = (r: AuditRecord) => [r.actor?.key && `key ${r.actor.key}`, r.actor?.player && `player ${r.actor.player}`, r.actor?.address]
    .filter(Boolean).join(', ');

function Records({ records }: { records: AuditRecord[] }) {
    return (
        <div class="scroll" tabIndex={0} role="region" aria-label="Records, newest first">
            <table class="table">
                <thead><tr><th scope="col">When</th><th scope="col">What</th><th scope="col">About</th><th scope="col">Who</th><th scope="col">Why</th></tr></thead>
                <tbody>
                    {records.map((r, i) => (
                        <tr key={`${r.seq}-${i}`}>
                            <td title={`event ${r.seq}`}>{format.when(r.at)}</td>
                            <td>{r.kind}{r.outcome !== 'done' && <small>{r.outcome}{(r.rule || r.code) && `: ${(r.rule || r.code)!.replace(/_/g, ' ')}`}</small>}
                                <Change record={r} /></td>
                            <td>{r.board}{r.board && r.player && ', '}{r.player}</td>
                            <td>{who(r)}</td>
                            <td>{r.reason}</td>
                        </tr>
                    ))}
                </tbody>
            </table>
        </div>
    );
}

function Change({ record }: { record: AuditRecord }) {
    const parts = ([['Before', record.before], ['After', record.after], ['Details', record.details]] as const)
        .filter(([, value]) => value && JSON.stringify(value) !== '{}');
    if (parts.length === 0) return null;
    return (
        <details>
            <summary>{parts.map(([name]) => name.toLowerCase()).join(', ')}</summary>
            {parts.map(([name, value]) => <div key={name}><small>{name}</small><pre class="code">{JSON.stringify(value, null, 1)}</pre></div>)}
        </details>
    );
}

function Filter({ filter }: { filter: AuditFilter }) {
    const [edited, setEdited] = useState(filter);
    const set = (name: keyof AuditFilter) => (event: { currentTarget: { value: string } }) => setEdited({ ...edited, [name]: event.currentTarget.value.trim() });
    return (
        <Card title="Filter">
            <form onSubmit={(event) => {
                event.preventDefault();
                location.hash = href(['admin', 'audit'], filterOf(edited as Record<string, string>));
            }}>
                <label class="field"><span>Kind</span>
                    <select value={edited.kind || ''} onChange={set('kind')}>
                        <option value="">all</option>
                        {audit.KINDS.map((kind) => <option key={kind} value={kind}>{kind}</option>)}
                    </select></label>
                <label class="field"><span>Board</span><input value={edited.board || ''} onInput={set('board')} /></label>
                <label class="field"><span>Player</span><input value={edited.player || ''} onInput={set('player')} /></label>
                <label class="field"><span>Key <small>its id</small></span><input value={edited.actor || ''} onInput={set('actor')} /></label>
                <label class="field"><span>From <small>a time, 2026-11-18T00:00:00Z</small></span><input value={edited.from || ''} onInput={set('from')} /></label>
                <label class="field"><span>To</span><input value={edited.to || ''} onInput={set('to')} /></label>
                <div class="buttons"><button class="button primary" type="submit">Show</button><a class="button" href={href(['admin', 'audit'])}>All</a></div>
            </form>
        </Card>
    );
}

function save(name: string, type: string, body: string) {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([body], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function Export({ filter }: { filter: AuditFilter }) {
    const [count, setCount] = useState<number | null>(null);
    const [note, setNote] = useState('');
    const run = async (isCsv: boolean) => {
        setNote('');
        setCount(0);
        try {
            const records = await audit.all(filter, setCount);
            save(isCsv ? 'audit.csv' : 'audit.ndjson', isCsv ? 'text/csv' : 'application/x-ndjson', isCsv ? audit.toCsv(records) : audit.toNdjson(records));
            setNote(`${format.count(records.length)} records${records.length >= audit.EXPORT_MAX ? '; there are more: choose a span of time' : ''}.`);
        } catch (problem) {
            setNote((problem as Error).message);
        } finally {
            setCount(null);
        }
    };
    return (
        <Card title="Export">
            <p class="quiet">All records that fit the filter, newest first, with what was there before and after.</p>
            <div class="buttons">
                <button class="button" type="button" disabled={count !== null} onClick={() => run(true)}>CSV</button>
                <button class="button" type="button" disabled={count !== null} onClick={() => run(false)}>NDJSON</button>
            </div>
            <p class="quiet" role="status">{count !== null ? `${format.count(count)} read…` : note}</p>
        </Card>
    );
}
