// SPDX-License-Identifier: Apache-2.0
// Ban and unban, with what it will do shown first.
import { useState } from 'preact/hooks';
import * as api from '../../lib/api';
import * as format from '../../lib/format';
import { Card } from '../../ui/parts';
import type { Place } from '../player';

export function Moderation({ player, name, banned, ranked, onDone }: {
    player: string; name: string; banned: boolean; ranked: Place[]; onDone: () => void }) {
    const [preview, setPreview] = useState(false);
    const [reason, setReason] = useState('');
    const [busy, setBusy] = useState(false);
    const [error, setError] = useState('');
    const act = async () => {
        setBusy(true);
        setError('');
        try {
            if (banned) await api.unban(player);
            else await api.ban(player, reason.trim() ? { reason: reason.trim() } : {});
            setPreview(false);
            setReason('');
            onDone();
        } catch (problem) {
            setError((problem as Error).message);
        } finally {
            setBusy(false);
        }
    };
    return (
        <Card title="Moderation">
            {!preview ? (
                <>
                    <p class="quiet">{banned ? 'Hidden from every ranking. Lifting the ban puts every entry back exactly where it was.' : 'A ban hides the player from every ranking at once. It can be undone.'}</p>
                    <div class="buttons"><button class={'button' + (banned ? '' : ' danger')} type="button" onClick={() => setPreview(true)}>{banned ? 'Unban…' : 'Ban…'}</button></div>
                </>
            ) : (
                <form onSubmit={(event) => {
                    event.preventDefault();
                    act();
                }}>
                    <h3>{banned ? `If ${name} is unbanned` : `If ${name} is banned`}</h3>
                    {banned ? <p class="quiet">Every score held before the ban is ranked again, and everybody below moves down one place. Scores sent meanwhile were refused and stay so.</p>
                        : ranked.length === 0 ? <p class="quiet">No ranking changes: the player is on no board.</p> : (
                        <ul class="effects">
                            {ranked.map(({ board, found }) => (
                                <li key={board.id}>
                                    <strong>{board.title || board.id}</strong>: rank {format.count(found!.entry.rank)} becomes free; {effect(found!)}
                                </li>
                            ))}
                        </ul>
                    )}
                    {!banned && (
                        <label class="field"><span>Reason <small>for the audit trail, optional</small></span>
                            <input value={reason} maxLength={200} onInput={(event) => setReason(event.currentTarget.value)} /></label>
                    )}
                    {error && <p class="field-error" role="alert">{error}</p>}
                    <div class="buttons">
                        <button class={'button ' + (banned ? 'primary' : 'danger')} type="submit" disabled={busy}>{banned ? 'Unban' : 'Ban'} {name}</button>
                        <button class="button" type="button" onClick={() => setPreview(false)}>Cancel</button>
                    </div>
                </form>
            )}
        </Card>
    );
}

function effect(found: api.Neighbourhood): string {
    const below = found.total - found.entry.rank;
    if (below <= 0) return 'nobody is below.';
    const heir = found.below[0];
    return `${format.count(below)} ${below === 1 ? 'player moves' : 'players move'} up${found.entry.rank === 1 && heir ? `, ${heir.name || heir.player} takes the lead` : ''}.`;
}
