// SPDX-License-Identifier: Apache-2.0
// Who changed what, when and why, from the archive; filtered, and as a file.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import * as audit from '../../lib/audit';
import type { AuditFilter, AuditRecord } from '../../lib/audit';
import * as format from '../../lib/format';
import { useKey, useLoad, useTitle } from '../../lib/hooks';
import { href } from '../../lib/route';
import { ruleName } from '../../lib/trust';
import { Card, Empty, Moment, Problem, save } from '../../ui/parts';

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
                            : <Records records={list.data.records} filter={filter} />}
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

// Pressing a name shows what else is known of it.
function Narrow({ filter, name, value, children }: { filter: AuditFilter; name: keyof AuditFilter; value?: string; children?: ComponentChildren }) {
    if (!value) return null;
    if (filter[name] === value) return <>{children || value}</>;
    return <a href={href(['admin', 'audit'], { ...filter, [name]: value })} title={`Only ${name === 'actor' ? 'this key' : `this ${name}`}`}>{children || value}</a>;
}

function Records({ records, filter }: { records: AuditRecord[]; filter: AuditFilter }) {
    return (
        <div class="scroll" tabIndex={0} role="region" aria-label="Records, newest first">
            <table class="table audit">
                <thead><tr><th scope="col">When</th><th scope="col">What</th><th scope="col">About</th><th scope="col">Who</th><th scope="col">Why</th></tr></thead>
                <tbody>
                    {records.map((r, i) => (
                        <tr key={`${r.seq}-${i}`} class={r.outcome === 'refused' ? 'refused' : undefined}>
                            <td class="when" title={`event ${r.seq}`}>{format.when(r.at)}</td>
                            <td><Narrow filter={filter} name="kind" value={r.kind} />{r.outcome !== 'done' && <small>{r.outcome}{(r.rule || r.code) && `: ${ruleName(r.rule || r.code!)}`}</small>}
                                <Change record={r} /></td>
                            <td><Narrow filter={filter} name="board" value={r.board} />{r.board && r.player && <br />}<Narrow filter={filter} name="player" value={r.player} /></td>
                            <td><Narrow filter={filter} name="actor" value={r.actor?.key}>key {r.actor?.key}</Narrow>{r.actor?.player && ` player ${r.actor.player}`}{r.actor?.address && <small>{r.actor.address}</small>}</td>
                            <td class="why">{r.reason}</td>
                        </tr>
                    ))}
                </tbody>
            </table>
        </div>
    );
}

// What changed, field by field where both sides are objects; and the board right before and after.
function Change({ record }: { record: AuditRecord }) {
    const { before, after, details, board, seq } = record;
    const changed = (audit.difference(before, after) || []).filter((d) => d.field !== 'seq' && d.field !== 'id');
    const parts = ([['Before', before], ['After', after], ['Details', details]] as const).filter(([, value]) => value != null && JSON.stringify(value) !== '{}');
    if (parts.length === 0) return null;
    const names = changed.length ? [`${changed.length} ${changed.length === 1 ? 'field' : 'fields'} changed`] : parts.map(([name]) => name.toLowerCase());
    const isOfBoard = board && record.outcome === 'done' && record.kind !== 'board deleted';
    return (
        <details>
            <summary>{names.join(', ')}</summary>
            {changed.length > 0 && (
                <dl class="facts">{changed.map((d) => <div key={d.field}><dt>{d.field}</dt><dd>{d.before && <del>{d.before}</del>} {d.after && <ins>{d.after}</ins>}</dd></div>)}</dl>
            )}
            {isOfBoard && <p class="then">The board {seq > 1 && <a href={href(['b', board], { as_of: String(seq - 1) })}>right before</a>} · <a href={href(['b', board], { as_of: String(seq) })}>right after</a></p>}
            {parts.filter(([name]) => changed.length === 0 || name === 'Details').map(([name, value]) => <div key={name}><small>{name}</small><pre class="code">{JSON.stringify(value, null, 1)}</pre></div>)}
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
                <Moment label="From" value={edited.from || ''} onChange={(from) => setEdited({ ...edited, from })} />
                <Moment label="To" help="not included" value={edited.to || ''} onChange={(to) => setEdited({ ...edited, to })} />
                <div class="buttons"><button class="button primary" type="submit">Show</button><a class="button" href={href(['admin', 'audit'])}>All</a></div>
            </form>
        </Card>
    );
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
