// SPDX-License-Identifier: Apache-2.0
// What the widget shows inside its frame: a live top list, and a link to the whole board.
import { render } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import '../ui/base.css';
import './frame.css';
import * as api from '../lib/api';
import type { Page } from '../lib/api';
import * as format from '../lib/format';
import { useLive, useLoad } from '../lib/hooks';
import { foldPage, liveAddress } from '../lib/live';
import { href } from '../lib/route';
import { Empty, Status } from '../ui/parts';
import { Ranking, RankingSkeleton } from '../ui/ranking';

// Options from the query or the fragment: an iframe written by hand may use either; a key only the fragment.
function options(): Record<string, string> {
    const all: Record<string, string> = {};
    new URLSearchParams(location.search).forEach((value, name) => name !== 'key' && (all[name] = value));
    new URLSearchParams(location.hash.slice(1)).forEach((value, name) => (all[name] = value));
    return all;
}

const given = options();
if (given.key) api.lendKey(given.key);
if (given.theme === 'light' || given.theme === 'dark') document.documentElement.dataset.theme = given.theme;

function Frame() {
    const id = given.board || '';
    const limit = Math.min(Math.max(Number(given.limit) || 10, 1), 100);
    const view = useMemo(() => ({ window: given.window, scope: given.scope }), []);
    const board = useLoad(id ? (signal) => api.board(id, signal) : null, [id]);
    const live = useLive<Page>(id ? liveAddress(id, view, { limit }) : null,
        (signal) => api.top(id, view, limit, 0, signal), foldPage, [id]);
    const root = useRef<HTMLElement>(null);
    useEffect(() => {
        if (parent === window) return undefined;
        const tell = () => parent.postMessage({ rungHeight: root.current!.getBoundingClientRect().height }, '*');
        const sizes = new ResizeObserver(tell);
        sizes.observe(root.current!);
        return () => sizes.disconnect();
    }, []);
    const title = given.title || board.data?.title || id;
    const parts = [given.window && given.window !== 'all' ? format.windowName(given.window) : '', given.scope ? scopeName(given.scope) : ''].filter(Boolean);
    return (
        <main class="frame" ref={root}>
            <header><h1>{title}</h1>{parts.length > 0 && <p>{parts.join(' · ')}</p>}</header>
            {!id ? <Empty title="Which board?">The widget needs the name of a board: data-board="…".</Empty>
                : live.data ? live.data.total > 0 && <Ranking label={title} entries={live.data.entries} board={board.data} me={given.player} showTime={false} />
                : live.error ? <Empty title="No leaderboard here">{live.error.message}</Empty>
                : <RankingSkeleton rows={limit} />}
            {live.data?.total === 0 && <Empty title="Nobody has a score yet" />}
            <footer>
                <Status status={live.status} />
                <a href={'/' + href(['b', id], { window: given.window, scope: given.scope, player: given.player })} target="_blank" rel="noopener">
                    {live.data ? `All ${format.count(live.data.total)} players` : 'Whole board'}
                </a>
            </footer>
        </main>
    );
}

function scopeName(scope: string): string {
    const colon = scope.indexOf(':');
    return format.scopeValue(scope.slice(0, colon), scope.slice(colon + 1));
}

render(<Frame />, document.getElementById('frame')!);
