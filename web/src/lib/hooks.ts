// SPDX-License-Identifier: Apache-2.0
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { currentKey, describes, offers, onKeyChange, whenBuilt } from './api';
import { watch, type LiveStatus } from './live';
import type { Message } from './sse';
import { parse, type Route } from './route';

export interface Load<T> {
    data: T | null;
    error: Error | null;
    busy: boolean;
    reload: () => void;
}

// Loads when `deps` change; the old data is dropped then, but kept during reload(). A null function loads nothing.
export function useLoad<T>(load: ((signal: AbortSignal) => Promise<T>) | null, deps: unknown[], everyMs = 0): Load<T> {
    const [state, set] = useState<{ data: T | null; error: Error | null; busy: boolean }>(
        { data: null, error: null, busy: load !== null });
    const [turn, setTurn] = useState(0);
    const last = useRef<unknown[]>(deps);
    useEffect(() => {
        if (!load) {
            set({ data: null, error: null, busy: false });
            return undefined;
        }
        const same = last.current.length === deps.length && last.current.every((value, i) => value === deps[i]);
        last.current = deps;
        set((old) => ({ data: same ? old.data : null, error: null, busy: true }));
        const stop = new AbortController();
        let timer: ReturnType<typeof setTimeout> | undefined;
        const again = () => {
            if (everyMs) timer = setTimeout(() => (document.hidden ? again() : once()), everyMs); // nobody looks: nothing is asked
        };
        const once = () => load(stop.signal).then(
            (data) => {
                if (stop.signal.aborted) return;
                set({ data, error: null, busy: false });
                again();
            },
            (error) => {
                if (stop.signal.aborted) return;
                set((old) => ({ data: everyMs ? old.data : null, error, busy: false }));
                again();
            });
        once();
        return () => {
            stop.abort();
            clearTimeout(timer);
        };
    }, [...deps, turn]);
    return { ...state, reload: useCallback(() => setTurn((n) => n + 1), []) };
}

// Loads what may be of the past: `percent` says how far its state is built, null where nothing is.
export function usePast<T>(load: ((signal: AbortSignal) => Promise<T>) | null, deps: unknown[], everyMs = 0): Load<T> & { percent: number | null } {
    const [percent, tell] = useState<number | null>(null);
    const state = useLoad(load ? (signal) => whenBuilt(() => load(signal), signal, (n) => !signal.aborted && tell(n)) : null, deps, everyMs);
    return { ...state, percent: state.data || state.error ? null : percent };
}

export interface Live<T> {
    data: T | null;
    status: LiveStatus;
    error: Error | null;
}

// Watches an address; starts anew when `deps` change. The first answer comes from `poll` if the stream is refused.
export function useLive<T>(streamUrl: string | null, poll: (signal: AbortSignal) => Promise<T>,
                           fold: (state: T | null, message: Message) => T | null | undefined, deps: unknown[]): Live<T> {
    const [state, set] = useState<Live<T>>({ data: null, status: 'connecting', error: null });
    useEffect(() => {
        set({ data: null, status: 'connecting', error: null });
        if (!streamUrl) return undefined;
        const guarded = (signal: AbortSignal) => poll(signal).catch((error) => {
            if (!signal.aborted) set((old) => ({ ...old, error }));
            throw error;
        });
        return watch<T>({
            streamUrl, fold, poll: guarded,
            onState: (data) => set((old) => ({ ...old, data, error: null })),
            onStatus: (status) => set((old) => (old.status === status ? old : { ...old, status })),
        });
    }, deps);
    return state;
}

export function useRoute(): Route {
    const [route, set] = useState(() => parse(location.hash));
    useEffect(() => {
        const onChange = () => set(parse(location.hash));
        addEventListener('hashchange', onChange);
        return () => removeEventListener('hashchange', onChange);
    }, []);
    return route;
}

export function useKey(): string {
    const [key, set] = useState(currentKey());
    useEffect(() => onKeyChange(() => set(currentKey())), []);
    return key;
}

// Does this server have such a call, or such a field of a schema? False until it is known.
export const useOffers = (path: string, method = 'get') => useKnown(() => offers(path, method), [path, method]);
export const useDescribes = (schema: string, field: string) => useKnown(() => describes(schema, field), [schema, field]);

function useKnown(ask: () => Promise<boolean>, deps: unknown[]): boolean {
    const [is, set] = useState(false);
    useEffect(() => {
        let here = true;
        ask().then((found) => here && set(found), () => undefined);
        return () => {
            here = false;
        };
    }, deps);
    return is;
}

export function useTitle(title: string): void {
    useEffect(() => {
        document.title = title ? `${title} · Rung` : 'Rung';
    }, [title]);
}

// A value kept in this browser (localStorage), where that is allowed.
export function useStored(name: string): [string, (value: string) => void] {
    const [value, set] = useState(() => {
        try {
            return localStorage.getItem(name) || '';
        } catch {
            return '';
        }
    });
    return [value, (next: string) => {
        set(next);
        try {
            if (next) localStorage.setItem(name, next);
            else localStorage.removeItem(name);
        } catch {
            // then it lasts as long as the page
        }
    }];
}
