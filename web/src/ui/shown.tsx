// SPDX-License-Identifier: Apache-2.0
// Long lists a page at a time, with a filter: what is not shown costs nothing.
import { useState } from 'preact/hooks';
import type { Board } from '../lib/api';

export interface Shown {
    boards: Board[];
    hidden: number;
    filter: string;
    setFilter: (text: string) => void;
    more: () => void;
    isLong: boolean;
}

export function useShown(all: Board[] | null, page: number): Shown {
    const [filter, setFilter] = useState('');
    const [limit, setLimit] = useState(page);
    const wanted = filter.trim().toLowerCase();
    const fitting = (all || []).filter((b) => !wanted || b.id.toLowerCase().includes(wanted) || (b.title || '').toLowerCase().includes(wanted));
    return {
        boards: fitting.slice(0, limit), hidden: Math.max(0, fitting.length - limit), filter, setFilter, more: () => setLimit(limit + page),
        isLong: (all || []).length > page,
    };
}

export function Filter({ shown }: { shown: Shown }) {
    if (!shown.isLong) return null;
    return <input type="search" placeholder="Filter boards" aria-label="Filter boards" value={shown.filter} onInput={(event) => shown.setFilter(event.currentTarget.value)} />;
}

export function More({ shown }: { shown: Shown }) {
    if (shown.hidden === 0) return null;
    return <p class="more-boards"><button class="button" type="button" onClick={shown.more}>Show more ({shown.hidden})</button></p>;
}
