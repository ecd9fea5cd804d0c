// SPDX-License-Identifier: Apache-2.0
// Small parts used on every page.
import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import { ApiError, currentKey, setKey } from '../lib/api';
import * as format from '../lib/format';
import type { LiveStatus } from '../lib/live';

export function Avatar({ id, name, large }: { id: string; name?: string; large?: boolean }) {
    return <span class={`avatar hue-${format.hue(id)}` + (large ? ' large' : '')} aria-hidden="true">{format.initials(name || id)}</span>;
}

export function Card({ title, aside, children, flush, id }: {
    title?: string; aside?: ComponentChildren; children: ComponentChildren; flush?: boolean; id?: string }) {
    return (
        <section class={'card' + (flush ? ' flush' : '')} aria-label={title} id={id}>
            {title && <header class="card-head"><h2>{title}</h2>{aside}</header>}
            {children}
        </section>
    );
}

export function Tabs({ label, items, quiet }: {
    label: string; items: { name: string; href: string; on: boolean }[]; quiet?: boolean }) {
    return (
        <nav class={'tabs' + (quiet ? ' quiet' : '')} aria-label={label}>
            <ul>
                {items.map((item) => (
                    <li key={item.href}><a href={item.href} aria-current={item.on ? 'page' : undefined}>{item.name}</a></li>
                ))}
            </ul>
        </nav>
    );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
    return <div class="empty"><strong>{title}</strong>{children && <p>{children}</p>}</div>;
}

const STATUS: Record<LiveStatus, string> = {
    connecting: 'Connecting', live: 'Live', polling: 'Updating', offline: 'Offline, trying again' };

export function Status({ status }: { status: LiveStatus }) {
    return <span class={'status ' + status} role="status">{STATUS[status]}</span>;
}

// What went wrong, and what can be done about it: a key where one is needed, another try elsewhere.
export function Problem({ error, retry, what }: { error: Error; retry?: () => void; what?: string }) {
    const status = error instanceof ApiError ? error.status : -1;
    if (status === 401 || status === 403) return <KeyForm refused={status === 403 || currentKey() !== ''} />;
    const title = status === 404 ? what || 'Not here' : status === 0 ? 'No connection' : status === 429 ? 'Too many requests'
        : status === 503 ? 'The server is not ready yet' : 'That did not work';
    return (
        <div class="problem" role="alert">
            <strong>{title}</strong>
            <p>{error.message}</p>
            {retry && status !== 404 && <button class="button" type="button" onClick={retry}>Try again</button>}
        </div>
    );
}

export function KeyForm({ refused, why }: { refused?: boolean; why?: string }) {
    const [value, set] = useState('');
    return (
        <form class="key-form" onSubmit={(event) => {
            event.preventDefault();
            if (value.trim()) setKey(value);
        }}>
            <strong>{refused ? 'This key may not do that' : 'A key is needed'}</strong>
            <p>{why || 'Type in a key of this server. It stays in this tab and is forgotten when the tab is closed.'}</p>
            <label class="field inline">
                <span class="hidden">Key</span>
                <input type="password" autocomplete="off" spellcheck={false} placeholder="Key" value={value}
                       onInput={(event) => set(event.currentTarget.value)} />
            </label>
            <button class="button primary" type="submit">Use this key</button>
        </form>
    );
}

export function Copy({ text, label = 'Copy' }: { text: string; label?: string }) {
    const [done, set] = useState(false);
    return (
        <button class="button small" type="button" onClick={async () => {
            try {
                await navigator.clipboard.writeText(text);
                set(true);
                setTimeout(() => set(false), 1500);
            } catch {
                // the text is on the page to be selected by hand
            }
        }}>{done ? 'Copied' : label}</button>
    );
}

export function Command({ children }: { children: string }) {
    return <div class="command"><code tabIndex={0}>{children}</code><Copy text={children} /></div>;
}

export function Figure({ name, value, note }: { name: string; value: ComponentChildren; note?: ComponentChildren }) {
    return <div class="figure"><dt>{name}</dt><dd>{value}{note && <small>{note}</small>}</dd></div>;
}

// A past state is being built: how far it is.
export function Building({ percent, what = 'Reading the log up to that moment' }: { percent: number | null; what?: string }) {
    return (
        <div class="building" role="status">
            <p>{what}… {percent ? `${percent}\u202f%` : ''}</p>
            <progress max={100} value={percent || undefined} aria-label={what} />
        </div>
    );
}

// A moment as people type it, in the browser's zone; empty: none.
export function Moment({ label, help, value, onChange }: { label: string; help?: string; value: string; onChange: (at: string) => void }) {
    const id = useId();
    return (
        <div class="field"><label for={id}>{label}{help && <small> {help}</small>}</label>
            <input id={id} type="datetime-local" step={1} value={format.toLocal(value)} onChange={(event) => onChange(format.fromLocal(event.currentTarget.value))} /></div>
    );
}

// A file for the visitor to keep.
export function save(name: string, type: string, body: string): void {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([body], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
