// SPDX-License-Identifier: Apache-2.0
// The frame around every page, and which page an address means.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import * as api from '../lib/api';
import { setKey } from '../lib/api';
import * as format from '../lib/format';
import { useKey, useLoad, useRoute } from '../lib/hooks';
import { href, type Route } from '../lib/route';
import { BoardEditor } from './admin/board_editor';
import { Audit } from './admin/audit';
import { AdminBoards } from './admin/boards';
import { Health } from './admin/health';
import { Import } from './admin/import';
import { Keys } from './admin/keys';
import { Replay } from './admin/replay';
import { Reviews } from './admin/reviews';
import { BoardPage } from './board';
import { Boards } from './boards';
import { Lost } from './lost';
import { PlayerPage } from './player';

function page(route: Route): ComponentChildren {
    const [first, second, third] = route.path;
    if (!first) return <Boards />;
    if (first === 'b' && second) return <BoardPage key={second} id={second} query={route.query} />;
    if (first === 'p' && second) return <PlayerPage key={second} id={second} query={route.query} />;
    if (first === 'admin') {
        switch (second) {
        case undefined: return <AdminBoards />;
        case 'new': return <BoardEditor key="new" />;
        case 'player': return third ? <PlayerPage key={third} id={third} query={route.query} operate /> : <Lost />;
        case 'edit': return third ? <BoardEditor key={third} id={third} /> : <Lost />;
        case 'replay': return third ? <Replay key={third} id={third} query={route.query} /> : <Lost />;
        case 'reviews': return <Reviews key={JSON.stringify([route.query.board, route.query.player, route.query.rule])} query={route.query} />;
        case 'import': return <Import />;
        case 'keys': return <Keys />;
        case 'audit': return <Audit query={route.query} />;
        case 'health': return <Health />;
        }
    }
    return <Lost />;
}

const ADMIN = [['', 'Boards'], ['reviews', 'Reviews'], ['import', 'Import'], ['keys', 'Keys'], ['audit', 'Audit'], ['health', 'Health']];

export function Console() {
    const route = useRoute();
    const main = useRef<HTMLElement>(null);
    const where = route.path.join('/');
    const first = useRef(true);
    useEffect(() => {
        if (first.current) {
            first.current = false; // the page's own focus, where the browser put it
            return;
        }
        main.current?.focus({ preventScroll: true });
        scrollTo(0, 0);
    }, [where]);
    const isAdmin = route.path[0] === 'admin';
    return (
        <>
            <a class="skip" href="#main" onClick={(event) => {
                event.preventDefault(); // the hash is our address
                main.current?.focus();
            }}>To the content</a>
            <header class="top">
                <div class="wide">
                    <a class="brand" href="#/"><Mark /><span>Rung</span></a>
                    <nav aria-label="Console">
                        <a href="#/" aria-current={!isAdmin ? 'page' : undefined}>Boards</a>
                        <a href="#/admin" aria-current={isAdmin ? 'page' : undefined}>Operate</a>
                    </nav>
                    <span class="spring" />
                    <KeyBadge />
                    <Theme />
                </div>
                {isAdmin && (
                    <div class="wide sub-nav">
                        <nav aria-label="Operate">
                            {ADMIN.map(([path, name]) => (
                                <a key={path} href={href(path ? ['admin', path] : ['admin'])}
                                   aria-current={isOn(route.path[1], path) ? 'page' : undefined}>{name}{path === 'reviews' && <Waiting />}</a>
                            ))}
                        </nav>
                    </div>
                )}
            </header>
            <main class="wide" id="main" tabIndex={-1} ref={main}>{page(route)}</main>
        </>
    );
}

function isOn(second: string | undefined, path: string): boolean {
    return path === '' ? second === undefined || second === 'new' || second === 'edit' || second === 'replay' || second === 'player' : second === path;
}

const WAITING_MS = 10000;

// How many scores wait for a verdict; nothing where the key may not know.
function Waiting() {
    const key = useKey();
    const [refused, setRefused] = useState('');
    const list = useLoad(refused === `key ${key}` ? null : (signal) => api.reviews({ limit: 1 }, signal), [key, refused], WAITING_MS);
    useEffect(() => {
        if (api.isRefused(list.error)) setRefused(`key ${key}`); // asked again with another key
    }, [list.error]);
    return list.data?.total ? <span class="badge">{format.count(list.data.total)}<span class="hidden"> waiting</span></span> : null;
}

function Mark() {
    return (
        <svg viewBox="0 0 32 32" width="26" height="26" aria-hidden="true">
            <rect class="mark-box" width="32" height="32" rx="8" />
            <path class="mark-line" d="M10.5 6v20M21.5 6v20M10.5 11h11M10.5 16h11M10.5 21h11" />
        </svg>
    );
}

function KeyBadge() {
    const key = useKey();
    if (!key) return null;
    return <button class="button small" type="button" onClick={() => setKey('')} title="Forget the key typed into this tab"><KeyMark /><span class="wide-only">Forget key</span></button>;
}

function KeyMark() {
    return <svg class="narrow-only" viewBox="0 0 24 24" width="18" height="18" aria-hidden="true"><path class="key-line" d="M8 15.5a4 4 0 1 1 0-8 4 4 0 0 1 0 8ZM12 11.5h9v3.5M17 11.5V15" /></svg>;
}

type Choice = 'system' | 'light' | 'dark';

function readTheme(): Choice {
    const set = document.documentElement.dataset.theme;
    return set === 'light' || set === 'dark' ? set : 'system';
}

function Theme() {
    const [theme, set] = useState<Choice>(readTheme);
    const choose = (next: Choice) => {
        set(next);
        const root = document.documentElement;
        if (next === 'system') delete root.dataset.theme;
        else root.dataset.theme = next;
        try {
            if (next === 'system') localStorage.removeItem('rung.theme');
            else localStorage.setItem('rung.theme', next);
        } catch {
            // it then lasts as long as the page
        }
        dispatchEvent(new Event('rung:theme'));
    };
    return (
        <label class="theme">
            <span class="hidden">Theme</span>
            <select value={theme} onChange={(event) => choose(event.currentTarget.value as Choice)}>
                <option value="system">Auto</option>
                <option value="light">Light</option>
                <option value="dark">Dark</option>
            </select>
        </label>
    );
}
