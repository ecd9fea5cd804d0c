// SPDX-License-Identifier: Apache-2.0
// Everybody, or only those of one country, platform, guild. Values are offered from the leaders' and the player's own
// profiles; any other can be typed.
import { useState } from 'preact/hooks';
import * as api from '../lib/api';
import type { Board, View } from '../lib/api';
import * as format from '../lib/format';
import { useKey, useLoad } from '../lib/hooks';
import { Tabs } from '../ui/parts';

const OFFERED = 5;

export function ScopePicker({ board, scope, at, me, view }: {
    board: Board; scope?: string; at: (change: Record<string, string>) => string; me: string; view: View }) {
    const seen = useLoad((signal) => offered(board, view, me, signal), [board.id, view.window, me, useKey()]);
    const [attribute, setAttribute] = useState(board.scopes[0]);
    const [text, setText] = useState('');
    const [typing, setTyping] = useState(false);
    const offers = [...new Set([...(scope ? [scope] : []), ...(seen.data || [])])].slice(0, OFFERED);
    const go = () => {
        if (!text.trim()) return;
        location.hash = at({ scope: `${attribute}:${text.trim()}`, offset: '' });
        setTyping(false);
        setText('');
    };
    return (
        <div class="scopes">
            <Tabs label="Among" quiet items={[
                { name: 'Everyone', href: at({ scope: '', offset: '' }), on: !scope },
                ...offers.map((one) => ({ name: nameOf(one, board), href: at({ scope: one, offset: '' }), on: one === scope })),
            ]} />
            {!typing ? <button class="button small" type="button" onClick={() => setTyping(true)}>Another…</button> : (
                <form class="scope-form" onSubmit={(event) => {
                    event.preventDefault();
                    go();
                }}>
                    <select aria-label="Attribute" value={attribute} onChange={(event) => setAttribute(event.currentTarget.value)}>
                        {board.scopes.map((name) => <option key={name} value={name}>{name}</option>)}
                    </select>
                    <input aria-label={`Value of ${attribute}`} value={text} size={8} autofocus placeholder={attribute === 'country' ? 'FI' : 'value'}
                           onInput={(event) => setText(event.currentTarget.value)} autocapitalize="none" spellcheck={false} />
                    <button class="button small" type="submit">Show</button>
                </form>
            )}
        </div>
    );
}

// Countries speak for themselves; where a board has several attributes, the others say what they are.
function nameOf(scope: string, board: Board): string {
    const colon = scope.indexOf(':');
    const attribute = scope.slice(0, colon);
    const value = format.scopeValue(attribute, scope.slice(colon + 1));
    return board.scopes.length > 1 && attribute !== 'country' ? `${attribute}: ${value}` : value;
}

// Scope values worth a tab: the player's own first, then those of the leaders by how often they occur.
async function offered(board: Board, view: View, me: string, signal: AbortSignal): Promise<string[]> {
    const page = await api.top(board.id, { window: view.window }, 100, 0, signal);
    const own = me ? await api.around(board.id, me, { window: view.window }, 0, signal) : null;
    const mine = own ? values(board, attributesOf(own.entry)) : [];
    const counts = new Map<string, number>();
    for (const entry of page.entries) {
        for (const value of values(board, attributesOf(entry))) counts.set(value, (counts.get(value) || 0) + 1);
    }
    return [...new Set([...mine, ...[...counts].sort((a, b) => b[1] - a[1]).map(([value]) => value)])];
}

const attributesOf = (entry: api.Entry) => ({ country: entry.country, ...entry.attributes });

function values(board: Board, attributes: Record<string, string | undefined>): string[] {
    return board.scopes.filter((name) => attributes[name]).map((name) => `${name}:${attributes[name]}`);
}
