// SPDX-License-Identifier: Apache-2.0
// Ban and unban, with what it will do shown first; notes on the player for other moderators.
import { useState } from 'preact/hooks';
import * as api from '../../lib/api';
import * as audit from '../../lib/audit';
import * as format from '../../lib/format';
import { useDescribes, useKey, useLoad } from '../../lib/hooks';
import { href } from '../../lib/route';
import { decimals } from '../../ui/ranking';
import { Card, Moment, Problem } from '../../ui/parts';
import type { Place } from '../player';

const HOUR = 3600e3;
const TERMS: [string, string, number][] = [['', 'until it is lifted', 0], ['h', 'for an hour', HOUR], ['d', 'for a day', 24 * HOUR], ['w', 'for a week', 168 * HOUR],
    ['m', 'for 30 days', 720 * HOUR], ['at', 'until a date…', 0]];

export function Moderation({ player, name, banned, until, isShadow, places, onDone }: {
    player: string; name: string; banned: boolean; until?: string; isShadow?: boolean; places: Place[]; onDone: () => void }) {
    const [open, setOpen] = useState(false);
    const done = () => {
        setOpen(false);
        onDone();
    };
    return (
        <Card title="Moderation">
            {!open ? (
                <>
                    <p class="quiet">{banned ? `Hidden from ${isShadow ? 'everybody but themselves' : 'every ranking'}${until ? ` until ${format.when(until)}` : ''}. Lifting the ban puts every entry back exactly where it was.`
                        : 'A ban hides the player from every ranking at once. It can be undone.'}</p>
                    <div class="buttons"><button class={'button' + (banned ? '' : ' danger')} type="button" onClick={() => setOpen(true)}>{banned ? 'Unban…' : 'Ban…'}</button></div>
                </>
            ) : <Act player={player} name={name} banned={banned} places={places} onDone={done} onCancel={() => setOpen(false)} />}
        </Card>
    );
}

function Act({ player, name, banned, places, onDone, onCancel }: {
    player: string; name: string; banned: boolean; places: Place[]; onDone: () => void; onCancel: () => void }) {
    const [reason, setReason] = useState('');
    const [term, setTerm] = useState('');
    const [until, setUntil] = useState('');
    const [shadow, setShadow] = useState(false);
    const hasShadow = useDescribes('Ban', 'shadow');
    const [busy, setBusy] = useState(false);
    const [error, setError] = useState('');
    const act = async () => {
        setBusy(true);
        setError('');
        try {
            const ms = TERMS.find(([id]) => id === term)![2];
            const end = term === 'at' ? until : ms ? new Date(Date.now() + ms).toISOString() : '';
            if (banned) await api.unban(player);
            else await api.ban(player, { ...(reason.trim() ? { reason: reason.trim() } : {}), ...(end ? { until: end } : {}), ...(shadow ? { shadow } : {}) });
            onDone();
        } catch (problem) {
            setError((problem as Error).message);
            setBusy(false);
        }
    };
    return (
        <form onSubmit={(event) => {
            event.preventDefault();
            act();
        }}>
            <h3>{banned ? `If ${name} is unbanned` : `If ${name} is banned`}</h3>
            {banned ? <p class="quiet">Every score held before the ban is ranked again, and everybody below moves down one place. Scores sent meanwhile were refused and stay so.</p>
                : <Effects player={player} places={places} />}
            {!banned && (
                <>
                    <label class="field"><span>How long</span>
                        <select value={term} onChange={(event) => setTerm(event.currentTarget.value)}>
                            {TERMS.map(([id, text]) => <option key={id} value={id}>{text}</option>)}
                        </select></label>
                    {hasShadow && <div class="checks shadow"><label><input type="checkbox" checked={shadow} onChange={(event) => setShadow(event.currentTarget.checked)} />Shadow ban: the player sees no difference</label></div>}
                    {term === 'at' && <Moment label="Until" value={until} onChange={setUntil} />}
                    <label class="field"><span>Reason <small>for the audit trail, optional</small></span>
                        <input value={reason} maxLength={200} onInput={(event) => setReason(event.currentTarget.value)} /></label>
                </>
            )}
            {error && <p class="field-error" role="alert">{error}</p>}
            <div class="buttons">
                <button class={'button ' + (banned ? 'primary' : 'danger')} type="submit" disabled={busy || (term === 'at' && !until)}>{banned ? 'Unban' : 'Ban'} {name}</button>
                <button class="button" type="button" onClick={onCancel}>Cancel</button>
            </div>
        </form>
    );
}

// What a ban would change, as the server sees it.
export function Effects({ player, places }: { player: string; places: Place[] }) {
    const preview = useLoad((signal) => api.previewBan(player, signal), [player, useKey()]);
    const boards = new Map(places.map((p) => [p.board.id, p.board]));
    if (preview.error) return <Problem error={preview.error} retry={preview.reload} />;
    if (!preview.data) return <p class="note" aria-busy="true"><span class="skeleton bar-l" /></p>;
    if (preview.data.boards.length === 0) return <p class="quiet">No ranking changes: the player is on no board.</p>;
    return (
        <>
            <ul class="effects">
                {preview.data.boards.map((effect) => (
                    <li key={effect.board}>
                        <strong>{boards.get(effect.board)?.title || effect.board}</strong>: rank {format.count(effect.rank)} of {format.count(effect.total)} becomes free
                        <small>{format.score(effect.score, decimals(boards.get(effect.board)))} is hidden; {moves(effect)}</small>
                    </li>
                ))}
            </ul>
            {!preview.data.complete && <p class="quiet">And more boards.</p>}
        </>
    );
}

function moves(effect: api.BanEffect): string {
    if (effect.move_up <= 0) return 'nobody is below';
    const heirs = effect.next.slice(0, 3);
    return `${format.count(effect.move_up)} ${effect.move_up === 1 ? 'player moves' : 'players move'} up${heirs.length ? `, first ${heirs.join(', ')}` : ''}`;
}

// ---- notes ----

const NOTES_MAX = 50;

export function Notes({ player }: { player: string }) {
    const list = useLoad((signal) => audit.page({ player, kind: 'noted' }, NOTES_MAX, undefined, signal), [player, useKey()], 3000);
    const [text, setText] = useState('');
    const [sent, setSent] = useState<string[]>([]); // until the archive has them
    const [error, setError] = useState('');
    const noted = list.data?.records || [];
    const textOf = (record: audit.AuditRecord) => String((record.details as { note?: string } | undefined)?.note ?? '');
    const waiting = sent.filter((note) => !noted.some((record) => textOf(record) === note));
    const add = async () => {
        setError('');
        try {
            await api.note(player, text.trim());
            setSent([text.trim(), ...sent]);
            setText('');
        } catch (problem) {
            setError((problem as Error).message);
        }
    };
    return (
        <Card title="Notes" aside={<a href={href(['admin', 'audit'], { player })}>Audit</a>}>
            <ol class="notes">
                {waiting.map((note) => <li key={note}>{note}<small>just now</small></li>)}
                {noted.map((record) => (
                    <li key={record.seq}>{textOf(record)}<small>{format.when(record.at)}{record.actor?.key ? `, key ${record.actor.key}` : ''}</small></li>
                ))}
            </ol>
            {noted.length + waiting.length === 0 && <p class="quiet">{list.error && !list.data ? list.error.message : 'None yet. Other moderators see what is noted here.'}</p>}
            <form class="note-form" onSubmit={(event) => {
                event.preventDefault();
                if (text.trim()) add();
            }}>
                <textarea rows={2} aria-label="A note" maxLength={1000} value={text} onInput={(event) => setText(event.currentTarget.value)} />
                <button class="button" type="submit" disabled={!text.trim()}>Add note</button>
            </form>
            {error && <p class="field-error" role="alert">{error}</p>}
        </Card>
    );
}
