// SPDX-License-Identifier: Apache-2.0
// Staying up to date. One stream of server-sent events where the server offers it; asking again every few seconds where
// it does not, or while the stream cannot be had. Callers see whole pages and a status, never the way they came.
import { address, authHeaders, type Entry, type Page, type View } from './api';
import { parseExact } from './json';
import { readEvents, Refused, type Message } from './sse';

export type LiveStatus = 'connecting' | 'live' | 'polling' | 'offline';

export const times = {
    poll: 3000,        // between two questions while polling
    retryMin: 500,     // first wait after a lost stream, doubled up to retryMax
    retryMax: 8000,
    silence: 45000,    // a stream without a byte for so long is taken for dead
    streamAgain: 60000, // while polling: how long until the stream is tried again
};

interface Watch<T> {
    streamUrl: string;
    poll: (signal: AbortSignal) => Promise<T>;
    // The state after a message; undefined: as before; null: a piece is missing, start anew.
    fold: (state: T | null, message: Message) => T | null | undefined;
    onState: (state: T) => void;
    onStatus: (status: LiveStatus) => void;
}

// Starts watching; the returned function ends it.
export function watch<T>(options: Watch<T>): () => void {
    const stop = new AbortController();
    run(options, stop.signal).catch(() => undefined);
    return () => stop.abort();
}

// What the stream has told so far; kept while it is away, so that it can go on where it stopped.
interface Held<T> {
    state: T | null;
    id: string;
}

async function run<T>(options: Watch<T>, signal: AbortSignal): Promise<void> {
    const held: Held<T> = { state: null, id: '' };
    let wait = times.retryMin, refused = false;
    options.onStatus('connecting');
    while (!signal.aborted) {
        refused = false;
        try {
            await stream(options, held, signal);
            wait = times.retryMin; // it ended as it should: the server restarts, or starts the viewer anew
        } catch (error) {
            if (signal.aborted) return;
            refused = error instanceof Refused && error.status < 500;
            if (refused) held.id = '';
        }
        if (signal.aborted) return;
        await pollUntil(options, signal, Date.now() + (refused ? times.streamAgain : wait), refused);
        wait = Math.min(wait * 2, times.retryMax);
    }
}

async function stream<T>(options: Watch<T>, held: Held<T>, outer: AbortSignal): Promise<void> {
    const inner = new AbortController();
    const end = () => inner.abort();
    outer.addEventListener('abort', end);
    let silence = setTimeout(end, times.silence);
    const headers = { ...authHeaders(), ...(held.id ? { 'Last-Event-ID': held.id } : {}) };
    try {
        await readEvents(options.streamUrl, headers, inner.signal, () => options.onStatus('live'), (message) => {
            const next = options.fold(held.state, message);
            if (next === undefined) return;
            held.id = next === null ? '' : message.id;
            if (next === null) throw new Error('a piece is missing');
            options.onState((held.state = next));
        }, () => {
            clearTimeout(silence);
            silence = setTimeout(end, times.silence);
        });
    } finally {
        clearTimeout(silence);
        outer.removeEventListener('abort', end);
        inner.abort();
    }
}

async function pollUntil<T>(options: Watch<T>, signal: AbortSignal, until: number, steady: boolean): Promise<void> {
    do {
        try {
            const state = await options.poll(signal);
            if (signal.aborted) return;
            options.onState(state);
            options.onStatus('polling');
        } catch {
            if (signal.aborted) return;
            options.onStatus('offline');
        }
        await pause(Math.max(Math.min(steady ? times.poll : until - Date.now(), times.poll), 100), signal);
    } while (!signal.aborted && Date.now() < until);
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
        const timer = setTimeout(resolve, ms);
        signal.addEventListener('abort', () => {
            clearTimeout(timer);
            resolve();
        }, { once: true });
    });
}

// ---- a page of entries: a full state, then differences, each from the state before (docs/live.md) ----

export function foldPage(state: Page | null, message: Message): Page | null | undefined {
    if (message.event !== 'state' && message.event !== 'change') return undefined;
    const data = parseExact(message.data);
    if (message.event === 'state') return data;
    if (!state || data.since !== state.seq) return null;
    const rows = new Map(state.entries.map((entry) => [entry.player, entry]));
    for (const player of data.gone as string[]) rows.delete(player);
    for (const entry of data.changed as Entry[]) rows.set(entry.player, entry);
    const entries = [...rows.values()].sort((a, b) => a.place! - b.place!);
    return { ...state, entries, total: data.total, seq: data.seq };
}

export function liveAddress(board: string, view: View, more: Record<string, string | number | undefined>): string {
    return address(['boards', board, 'live'], { ...view, ...more });
}
