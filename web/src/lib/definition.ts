// SPDX-License-Identifier: Apache-2.0
// A board's definition as a form holds it (text everywhere), and as the server takes it.
import type { Board, Season } from './api';

export interface ColumnForm {
    name: string;
    type: string;
    order: string;
    decimals: string;
}

export interface Form {
    id: string;
    title: string;
    type: string;
    order: string;
    decimals: string;
    columns: ColumnForm[];
    update: string;
    half_life: string;
    tie: string;
    rank: string;
    windows: string[];
    seasons: Season[];
    timezone: string;
    day_starts: string;
    grace: string;
    keep: string;
    scopes: string;
    team_by: string;
    team_combine: string;
    limits: Record<string, string>;
    writers: string;
    review: unknown; // passed on as it is: a definition is always sent whole
}

export const KINDS = ['all', 'hour', 'day', 'week', 'month', 'year'];
export const LIMITS = ['min', 'max', 'max_step', 'per_player_per_minute', 'z_score'];

export function emptyForm(): Form {
    return {
        id: '', title: '', type: 'integer', order: 'desc', decimals: '2', columns: [], update: 'best', half_life: '86400', tie: 'first',
        rank: 'sparse', windows: ['all'], seasons: [], timezone: 'UTC', day_starts: '00:00', grace: '0', keep: '2', scopes: '',
        team_by: '', team_combine: 'sum', limits: Object.fromEntries(LIMITS.map((name) => [name, ''])), writers: 'server', review: undefined,
    };
}

const text = (value: unknown, fallback: string) => (value == null ? fallback : String(value));

export function formOf(board: Board): Form {
    const empty = emptyForm();
    return {
        id: board.id,
        title: board.title || '',
        type: board.score.type,
        order: board.score.order,
        decimals: text(board.score.decimals, empty.decimals),
        columns: board.columns.map((c) => ({ name: c.name || '', type: c.type, order: c.order, decimals: text(c.decimals, '2') })),
        update: board.update,
        half_life: text(board.half_life, empty.half_life),
        tie: text(board.tie, empty.tie),
        rank: text(board.rank, empty.rank),
        windows: board.windows.filter((w): w is string => typeof w === 'string'),
        seasons: board.windows.filter((w): w is Season => typeof w !== 'string'),
        timezone: text(board.timezone, empty.timezone),
        day_starts: text(board.day_starts, empty.day_starts),
        grace: text(board.grace, empty.grace),
        keep: typeof board.keep === 'object' ? Object.entries(board.keep).map(([kind, n]) => `${kind}=${n}`).join(', ') : text(board.keep, empty.keep),
        scopes: board.scopes.join(', '),
        team_by: board.teams?.by || '',
        team_combine: board.teams?.combine || 'sum',
        limits: Object.fromEntries(LIMITS.map((name) => [name, text(board.limits?.[name], '')])),
        writers: text(board.writers, empty.writers),
        review: board.review ?? undefined,
    };
}

// "2", or "hour=48, day=30".
const keepOf = (keep: string) =>
    keep.includes('=') ? Object.fromEntries(keep.split(',').map((part) => part.split('=')).map(([kind, n]) => [kind.trim(), Number(n)])) : Number(keep);

// The body of PUT /v1/boards/{board}, as text: limits are written with every digit that was typed.
export function bodyOf(form: Form): string {
    const column = (c: { type: string; order: string; decimals: string }) =>
        ({ type: c.type, order: c.order, ...(c.type === 'decimal' ? { decimals: Number(c.decimals) } : {}) });
    const limits = LIMITS.filter((name) => form.limits[name].trim() !== '');
    const exact: Record<string, string> = {};
    limits.forEach((name) => (exact[`\u0000${name}`] = form.limits[name].trim()));
    const body = {
        title: form.title.trim() || form.id.trim(),
        score: column(form),
        ...(form.columns.length ? { columns: form.columns.map((c) => ({ name: c.name, ...column(c) })) } : {}),
        update: form.update,
        ...(form.update === 'decay' ? { half_life: Number(form.half_life) } : {}),
        tie: form.tie,
        rank: form.rank,
        windows: [...KINDS.filter((kind) => form.windows.includes(kind)), ...form.seasons],
        timezone: form.timezone.trim(),
        day_starts: form.day_starts,
        grace: Number(form.grace),
        keep: keepOf(form.keep),
        scopes: form.scopes.split(',').map((s) => s.trim()).filter(Boolean),
        ...(form.team_by.trim() ? { teams: { by: form.team_by.trim(), combine: form.team_combine } } : {}),
        ...(limits.length ? { limits: Object.fromEntries(limits.map((name) => [name, `\u0000${name}`])) } : {}),
        writers: form.writers,
        review: form.review,
    };
    return JSON.stringify(body).replace(/"\\u0000(\w+)"/g, (_, name) => exact[`\u0000${name}`]);
}

const KEEP = /^(\d+|(hour|day|week|month|year|season|other)\s*=\s*\d+(\s*,\s*(hour|day|week|month|year|season|other)\s*=\s*\d+)*)$/;
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

// {field: what is wrong}; empty when the form can be sent. The server has the last word.
export function mistakes(form: Form): Record<string, string> {
    const wrong: Record<string, string> = {};
    const id = form.id.trim();
    if (!id) wrong.id = 'A board needs an id.';
    else if (new TextEncoder().encode(id).length > 128) wrong.id = 'At most 128 bytes.';
    if (form.windows.length + form.seasons.length === 0) wrong.windows = 'Choose at least one window.';
    for (const season of form.seasons) {
        if (!season.name.trim() || !season.starts || !season.ends) wrong.seasons = 'A season needs a name, a start and an end.';
        else if (Date.parse(season.starts) >= Date.parse(season.ends)) wrong.seasons = `“${season.name}” ends before it starts.`;
    }
    for (const name of LIMITS) if (form.limits[name].trim() && !NUMBER.test(form.limits[name].trim())) wrong[`limits.${name}`] = 'A number, or nothing.';
    if (!/^\d+$/.test(form.grace.trim())) wrong.grace = 'A whole number, 0 or more.';
    if (!KEEP.test(form.keep.trim())) wrong.keep = 'A whole number, 0 or more, or numbers by kind: hour=48, day=30.';
    if (form.update === 'decay' && !(Number(form.half_life) > 0)) wrong.half_life = 'Seconds, more than 0.';
    if (form.columns.some((c) => !c.name.trim())) wrong.columns = 'Every column needs a name.';
    return wrong;
}
