// SPDX-License-Identifier: Apache-2.0
// Keys: which there are, a new one (shown once), the end of one. The same as `rung keys` on the server's machine.
import { useState } from 'preact/hooks';
import * as api from '../../lib/api';
import type { KeyInfo } from '../../lib/api';
import * as format from '../../lib/format';
import { useKey, useLoad, useTitle } from '../../lib/hooks';
import { Card, Command, Copy, Empty, Problem } from '../../ui/parts';

const DAY_MS = 86400e3;

export function Keys() {
    useTitle('Keys');
    const key = useKey();
    const list = useLoad(api.keys, [key], 5000);
    const [made, setMade] = useState<api.KeyMade | null>(null);
    if (list.error && !list.data) return <><Head /><Card><Problem error={list.error} retry={list.reload} /></Card></>;
    const isFirst = list.data?.keys.length === 0;
    return (
        <>
            <Head />
            {made && <Made made={made} onDone={() => setMade(null)} />}
            <div class="columns">
                <div class="main-column">
                    <Card flush>
                        {!list.data ? <p class="note" aria-busy="true"><span class="skeleton bar-l" /></p>
                            : isFirst ? <Empty title="No keys yet">Everybody on this machine may do everything, and nobody else can connect. The first key has to be an admin’s; from then on every request needs one.</Empty>
                            : <List keys={list.data.keys} canChange={list.data.can_change} onDone={(id) => {
                                if (made?.id === id) setMade(null);
                                list.reload();
                            }} />}
                    </Card>
                </div>
                <aside class="side-column" aria-label="New key">
                    {list.data?.can_change && <NewKey isFirst={isFirst || false} onMade={(next) => {
                        setMade(next);
                        if (!key) api.setKey(next.key); // the server asks for one from now on
                        list.reload();
                    }} />}
                    {list.data && !list.data.can_change && <Card title="New key"><p class="quiet">Keys are kept in the data folder, and this server has none.</p></Card>}
                    <Card title="For players">
                        <p class="quiet">Game clients get no key but a token that your login service signs for one player. What verifies such tokens is made where the server runs:</p>
                        <Command>rung keys create --role player-token --alg EdDSA --public login.pem --data DIR</Command>
                    </Card>
                </aside>
            </div>
        </>
    );
}

function Head() {
    return <header class="page-head"><h1>Keys</h1></header>;
}

// The only time that it is on a screen.
function Made({ made, onDone }: { made: api.KeyMade; onDone: () => void }) {
    return (
        <section class="card made" aria-label="The key that was made">
            <header class="card-head"><h2><span role="status">A key with the role {made.role}, shown this once</span></h2><button class="button small" type="button" onClick={onDone}>I have kept it</button></header>
            <div class="command"><code tabIndex={0}>{made.key}</code><Copy text={made.key} /></div>
            <p class="quiet">The server keeps only its hash. It is sent as <code>Authorization: Bearer …</code>, or with <code>AUTH</code> over the Redis protocol.</p>
        </section>
    );
}

function List({ keys, canChange, onDone }: { keys: KeyInfo[]; canChange: boolean; onDone: (id: string) => void }) {
    const live = keys.filter((k) => k.state === 'live').reverse();
    const ended = keys.filter((k) => k.state !== 'live').reverse();
    return (
        <>
            {live.length > 0 ? <Table keys={live} label="Keys in force" revoke={canChange ? onDone : undefined} /> : <Empty title="No key is in force">A new one can be made where the server runs.</Empty>}
            {ended.length > 0 && <details class="ended"><summary>{ended.length} no longer in force</summary><Table keys={ended} label="Keys no longer in force" /></details>}
        </>
    );
}

function Table({ keys, label, revoke }: { keys: KeyInfo[]; label: string; revoke?: (id: string) => void }) {
    return (
        <div class="scroll">
            <table class="table" aria-label={label}>
                <thead><tr><th scope="col">Key</th><th scope="col">Role</th><th scope="col" class="wide-cell">Boards</th><th scope="col" class="wide-cell">Made</th>{revoke ? <th scope="col"><span class="hidden">Actions</span></th> : <th scope="col">Ended</th>}</tr></thead>
                <tbody>
                    {keys.map((k) => (
                        <tr key={k.id}>
                            <th scope="row">{k.label || <span class="mono">{k.id}</span>}{k.label && <small class="mono">{k.id}</small>}{k.boards.length > 0 && <small class="narrow-line">{k.boards.join(', ')}</small>}</th>
                            <td>{k.role}{k.rate && <small>{format.count(k.rate)}/s</small>}</td>
                            <td class="wide-cell">{k.boards.length ? k.boards.join(', ') : <span class="quiet">all</span>}</td>
                            <td class="when wide-cell" title={format.when(k.created)}>{format.ago(k.created)}{revoke && k.expires && <small>until {format.day(k.expires)}</small>}</td>
                            {revoke ? <td class="num"><Revoke target={k} onDone={() => revoke(k.id)} /></td> : <td class="when" title={format.when(k.revoked || k.expires)}>{k.state} {format.ago(k.revoked || k.expires)}</td>}
                        </tr>
                    ))}
                </tbody>
            </table>
        </div>
    );
}

function Revoke({ target, onDone }: { target: KeyInfo; onDone: () => void }) {
    const [sure, setSure] = useState(false);
    const [error, setError] = useState('');
    const own = api.currentKey().includes(`_${target.id}_`);
    const name = target.label || target.id;
    if (!sure) return <button class="button small" type="button" onClick={() => setSure(true)}>Revoke…<span class="hidden"> {name}</span></button>;
    return (
        <div class="revoke">
            <p>{error || (own ? 'This is the key of this tab. ' : '') + 'It stops at once, for ever.'}</p>
            <button class="button small danger" type="button" onClick={async () => {
                try {
                    await api.revokeKey(target.id);
                    onDone();
                } catch (problem) {
                    setError((problem as Error).message);
                }
            }}>Revoke {name}</button>
            <button class="button small" type="button" onClick={() => setSure(false)}>Keep</button>
        </div>
    );
}

const ROLES: [string, string][] = [
    ['read', 'Asks: tops, ranks, live updates. Safe in a web page or widget.'],
    ['server', 'Also sends scores, profiles and friendships. For the game’s own servers.'],
    ['admin', 'Also defines boards, bans players, makes keys. For this part of the console.'],
];

function NewKey({ isFirst, onMade }: { isFirst: boolean; onMade: (made: api.KeyMade) => void }) {
    const [chosen, setRole] = useState('server');
    const [boards, setBoards] = useState('');
    const [label, setLabel] = useState('');
    const [days, setDays] = useState('');
    const [error, setError] = useState('');
    const [busy, setBusy] = useState(false);
    const role = isFirst ? 'admin' : chosen;
    const make = async () => {
        setBusy(true);
        setError('');
        try {
            const patterns = boards.split(',').map((text) => text.trim()).filter(Boolean);
            onMade(await api.createKey({
                role, label: label.trim() || undefined,
                boards: patterns.length && !isFirst ? patterns : undefined,
                expires: days && !isFirst ? new Date(Date.now() + Number(days) * DAY_MS).toISOString() : undefined,
            }));
            setLabel('');
            setBoards('');
        } catch (problem) {
            setError((problem as Error).message);
        } finally {
            setBusy(false);
        }
    };
    return (
        <Card title="New key">
            <form onSubmit={(event) => {
                event.preventDefault();
                make();
            }}>
                <fieldset class="choices" disabled={isFirst}>
                    <legend class="hidden">Role</legend>
                    {ROLES.map(([name, what]) => (
                        <label key={name}><input type="radio" name="role" value={name} checked={role === name} onChange={() => setRole(name)} />
                            <span><strong>{name}</strong><small>{what}</small></span></label>
                    ))}
                </fieldset>
                <label class="field"><span>Label <small>what it is for</small></span>
                    <input value={label} maxLength={100} placeholder="game servers" onInput={(event) => setLabel(event.currentTarget.value)} /></label>
                {!isFirst && <label class="field"><span>Boards <small>all, if empty</small></span>
                    <input value={boards} placeholder="race-*, weekly" autocapitalize="none" spellcheck={false} onInput={(event) => setBoards(event.currentTarget.value)} /></label>}
                {!isFirst && <label class="field"><span>Ends</span>
                    <select value={days} onChange={(event) => setDays(event.currentTarget.value)}>
                        <option value="">never</option><option value="30">in 30 days</option><option value="90">in 90 days</option><option value="365">in a year</option>
                    </select></label>}
                {error && <p class="field-error" role="alert">{error}</p>}
                <div class="buttons"><button class="button primary" type="submit" disabled={busy}>Make key</button></div>
            </form>
        </Card>
    );
}
