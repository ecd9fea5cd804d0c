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
    fold: (state: T | null, message: Message) => T | null; // null: cannot be understood without a fresh start
    onState: (state: T) => void;
    onStatus: (status: LiveStatus) => void;
}

// Starts watching; the returned function ends it.
export function watch<T>(options: Watch<T>): () => void {
    const stop = new AbortController();
    run(options, stop.signal).catch(() => undefined);
    return () => stop.abort();
}

async function run<T>(options: Watch<T>, signal: AbortSignal): Promise<void> {
    let wait = times.retryMin, refusals = 0;
    options.onStatus('connecting');
    while (!signal.aborted) {
        try {
            await stream(options, signal, () => {
                wait = times.retryMin;
                refusals = 0;
            });
        } catch (error) {
            if (signal.aborted) return;
            if (error instanceof Refused && error.status < 500) refusals++;
        }
        if (signal.aborted) return;
        const until = Date.now() + (refusals ? times.streamAgain : wait);
        await pollUntil(options, signal, until, refusals > 0);
        wait = Math.min(wait * 2, times.retryMax);
    }
}

async function stream<T>(options: Watch<T>, outer: AbortSignal, onOpen: () => void): Promise<void> {
    const inner = new AbortController();
    const end = () => inner.abort();
    outer.addEventListener('abort', end);
    let state: T | null = null;
    let silence = setTimeout(end, times.silence);
    try {
        await readEvents(options.streamUrl, authHeaders(), inner.signal, onOpen, (message) => {
            const next = options.fold(state, message);
            if (next === null) return;
            options.onStatus('live');
            if (next !== state) options.onState((state = next));
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

// ---- a page of entries: a full state, then differences ----

export function foldPage(state: Page | null, message: Message): Page | null {
    let data: any;
    try {
        data = parseExact(message.data);
    } catch {
        return state;
    }
    if (Array.isArray(data.entries)) {
        return { ...data, total: data.total ?? data.entries.length,
                 seq: Number(data.seq ?? message.id) || 0 };
    }
    if (!state) return null;
    const changed: Entry[] = data.changed || data.set || [];
    const gone: string[] = data.gone || data.removed || [];
    if (!changed.length && !gone.length && data.total == null) return state;
    const rows = new Map(state.entries.map((entry) => [entry.player, entry]));
    gone.forEach((player) => rows.delete(player));
    changed.forEach((entry) => rows.set(entry.player, { ...rows.get(entry.player), ...entry }));
    const entries = [...rows.values()].sort((a, b) => position(a) - position(b));
    return { ...state, entries, total: data.total ?? state.total, seq: Number(data.seq ?? message.id) || state.seq };
}

const position = (entry: Entry): number => entry.rank;

export function liveAddress(board: string, view: View, more: Record<string, string | number | undefined>): string {
    return address(['boards', board, 'live'], { ...view, ...more });
}
