// SPDX-License-Identifier: Apache-2.0
// Everybody, or only those of one country, platform, guild: the player's own and the largest as tabs, more in a list.
import { useRef, useState } from 'preact/hooks';
import * as api from '../lib/api';
import type { Board, ScopeValues, View } from '../lib/api';
import * as format from '../lib/format';
import { useKey, useLoad } from '../lib/hooks';
import { Tabs } from '../ui/parts';

const OFFERED = 5;
const LISTED = 250;
const TYPED = '?'; // no scope is called so

interface Values {
    of: Record<string, ScopeValues>; // by attribute
    own: string[];
}

export function ScopePicker({ board, scope, at, me, view }: {
    board: Board; scope?: string; at: (change: Record<string, string>) => string; me: string; view: View }) {
    const values = useLoad((signal) => load(board, view, me, signal), [board.id, view.window, view.window_id, me, useKey()], 30000);
    const kept = useRef<Values | null>(null); // another window has much the same: no blinking
    if (values.data) kept.current = values.data;
    const [typing, setTyping] = useState(false);
    const known = kept.current;
    const offers = known ? [...new Set([...(scope ? [scope] : []), ...known.own, ...largest(board, known)])].slice(0, OFFERED) : scope ? [scope] : [];
    const go = (next: string) => (location.hash = at({ scope: next, offset: '' }));
    const count = known ? Object.values(known.of).reduce((sum, list) => sum + list.value_count, 0) : 0;
    return (
        <div class="scopes">
            <Tabs label="Among" quiet items={[
                { name: 'Everyone', href: at({ scope: '', offset: '' }), on: !scope },
                ...offers.map((one) => ({ name: nameOf(one, board), href: at({ scope: one, offset: '' }), on: one === scope })),
            ]} />
            {typing ? <Typed board={board} onDone={(next) => {
                setTyping(false);
                if (next) go(next);
            }} /> : known && count > offers.length && (
                <select class="more-values" aria-label="Another" value="" onChange={(event) => {
                    const next = event.currentTarget.value;
                    if (next === TYPED) setTyping(true);
                    else if (next) go(next);
                }}>
                    <option value="">All {format.count(count)}…</option>
                    {board.scopes.map((attribute) => <Group key={attribute} attribute={attribute} list={known.of[attribute]} />)}
                    {board.scopes.some((attribute) => isCut(known.of[attribute])) && <option value={TYPED}>Another, typed in…</option>}
                </select>
            )}
        </div>
    );
}

const isCut = (list: ScopeValues | undefined) => (list ? list.value_count > list.values.length : false);

function Group({ attribute, list }: { attribute: string; list?: ScopeValues }) {
    if (!list?.values.length) return null;
    return (
        <optgroup label={attribute}>
            {list.values.map(({ value, total }) => <option key={value} value={`${attribute}:${value}`}>{format.scopeValue(attribute, value)} ({format.count(total)})</option>)}
        </optgroup>
    );
}

function Typed({ board, onDone }: { board: Board; onDone: (scope: string) => void }) {
    const [attribute, setAttribute] = useState(board.scopes[0]);
    const [text, setText] = useState('');
    return (
        <form class="scope-form" onSubmit={(event) => {
            event.preventDefault();
            onDone(text.trim() && `${attribute}:${text.trim()}`);
        }}>
            <select aria-label="Attribute" value={attribute} onChange={(event) => setAttribute(event.currentTarget.value)}>
                {board.scopes.map((name) => <option key={name} value={name}>{name}</option>)}
            </select>
            <input aria-label={`Value of ${attribute}`} value={text} size={8} autofocus placeholder={attribute === 'country' ? 'FI' : 'value'}
                   onInput={(event) => setText(event.currentTarget.value)} autocapitalize="none" spellcheck={false} />
            <button class="button small" type="submit">Show</button>
        </form>
    );
}

// Countries speak for themselves; where a board has several attributes, the others say what they are.
function nameOf(scope: string, board: Board): string {
    const colon = scope.indexOf(':');
    const attribute = scope.slice(0, colon);
    const value = format.scopeValue(attribute, scope.slice(colon + 1));
    return board.scopes.length > 1 && attribute !== 'country' ? `${attribute}: ${value}` : value;
}

// Of each attribute in turn.
function largest(board: Board, known: Values): string[] {
    const out: string[] = [];
    for (let i = 0; i < OFFERED; i++) {
        for (const attribute of board.scopes) {
            const one = known.of[attribute]?.values[i];
            if (one) out.push(`${attribute}:${one.value}`);
        }
    }
    return out;
}

async function load(board: Board, view: View, me: string, signal: AbortSignal): Promise<Values> {
    const lists = await Promise.all(board.scopes.map((attribute) => api.scopeValues(board.id, attribute, view, LISTED, signal)));
    const own = me ? await api.around(board.id, me, { window: view.window }, 0, signal) : null;
    return {
        of: Object.fromEntries(board.scopes.map((attribute, i) => [attribute, lists[i]])),
        own: own ? scopesOf(board, { country: own.entry.country, ...own.entry.attributes }) : [],
    };
}

function scopesOf(board: Board, attributes: Record<string, string | undefined>): string[] {
    return board.scopes.filter((name) => attributes[name]).map((name) => `${name}:${attributes[name]}`);
}
