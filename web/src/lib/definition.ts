// SPDX-License-Identifier: Apache-2.0
// A board's definition as a form holds it (text everywhere), and as the server takes it. A definition is always sent
// whole, so what the form does not know goes back as it came.
import type { Board, Season } from './api';
import { ACTIONS, PARAMETERS, RULES, type RuleForm } from './trust';

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
    rules: RuleForm[];
    review: string; // '', 'anomalies' or 'top'
    review_top: string;
    review_days: string;
    review_outcome: string;
    rating: Record<string, string>; // the parameters that have a field; '': the system's default
    kind: string;   // exact or sketch
    sketch: string; // what a sketch board keeps
    memory: string;
    rest: Record<string, unknown>;  // what has no field
}

export const KINDS = ['all', 'hour', 'day', 'week', 'month', 'year'];
export const LIMITS = ['min', 'max', 'max_step', 'per_player_per_minute', 'z_score'];

export function emptyForm(): Form {
    return {
        id: '', title: '', type: 'integer', order: 'desc', decimals: '2', columns: [], update: 'best', half_life: '86400', tie: 'first',
        rank: 'sparse', windows: ['all'], seasons: [], timezone: 'UTC', day_starts: '00:00', grace: '0', keep: '2', scopes: '',
        team_by: '', team_combine: 'sum', limits: Object.fromEntries(LIMITS.map((name) => [name, ''])), writers: 'server',
        rules: [], review: '', review_top: '10', review_days: '7', review_outcome: 'reject', rating: {}, kind: 'exact', sketch: 'counts', memory: '1MiB', rest: {},
    };
}

const FIELDS = new Set(['id', 'seq', 'expires', 'title', 'score', 'columns', 'update', 'half_life', 'tie', 'rank', 'windows', 'timezone', 'day_starts',
    'grace', 'keep', 'scopes', 'teams', 'limits', 'writers', 'rules', 'review', 'review_expires', 'review_outcome', 'rating', 'kind', 'sketch', 'memory']);
const DAY_S = 86400;

export const isRating = (update: string) => update === 'elo' || update === 'glicko2' || update === 'openskill';

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
        rules: (board.rules || []).map((rule) => ({
            rule: rule.rule, value: text(rule.value, ''), per: text(rule.per, '60'), action: rule.action || 'refuse',
        })),
        review: String(board.review ?? '').replace(/:.*/, ''),
        review_top: /^top:/.test(board.review || '') ? board.review!.slice(4) : empty.review_top,
        review_days: board.review_expires == null ? empty.review_days : String(board.review_expires / DAY_S),
        review_outcome: text(board.review_outcome, empty.review_outcome),
        rating: Object.fromEntries(Object.entries(board.rating || {}).filter(([, value]) => typeof value !== 'object').map(([name, value]) => [name, String(value)])),
        kind: text(board.kind, empty.kind),
        sketch: text(board.sketch, empty.sketch),
        memory: text(board.memory, empty.memory),
        rest: {
            ...Object.fromEntries(Object.entries(board).filter(([name]) => !FIELDS.has(name))),
            rating: Object.fromEntries(Object.entries(board.rating || {}).filter(([, value]) => value !== null && typeof value === 'object')),
        },
    };
}

// Words stay words in a rating's parameters, numbers are written as they were typed.
const parameter = (value: string, exact: (text: string) => string) => (value === 'true' || value === 'false' ? value === 'true' : NUMBER.test(value) ? exact(value) : value);

function ratingOf(form: Form, exact: (text: string) => string): unknown {
    const given = Object.entries(form.rating).filter(([, value]) => value.trim() !== '').map(([name, value]) => [name, parameter(value.trim(), exact)]);
    const rest = (form.rest.rating || {}) as object;
    return given.length || Object.keys(rest).length ? { ...Object.fromEntries(given), ...rest } : undefined;
}

function ruleOf(rule: RuleForm, exact: (text: string) => string): unknown {
    const kind = RULES[rule.rule];
    return { rule: rule.rule, ...(kind?.measure ? { value: exact(rule.value.trim()) } : {}), ...(kind?.hasPer ? { per: exact(rule.per.trim()) } : {}), action: rule.action };
}

// "2", or "hour=48, day=30".
const keepOf = (keep: string) =>
    keep.includes('=') ? Object.fromEntries(keep.split(',').map((part) => part.split('=')).map(([kind, n]) => [kind.trim(), Number(n)])) : Number(keep);

// JSON in which some numbers stand as they were typed, with every digit.
function withDigits(make: (exact: (typed: string) => string) => unknown): string {
    const digits: string[] = [];
    const body = make((typed) => `\u0000${digits.push(typed) - 1}`);
    return JSON.stringify(body).replace(/"\\u0000(\d+)"/g, (_, i) => digits[Number(i)]);
}

function judging(form: Form, exact: (typed: string) => string): object {
    const limits = LIMITS.filter((name) => form.limits[name].trim() !== '');
    return {
        limits: Object.fromEntries(limits.map((name) => [name, exact(form.limits[name].trim())])),
        rules: form.rules.map((rule) => ruleOf(rule, exact)),
        ...(form.review ? { review: form.review === 'top' ? `top:${form.review_top.trim()}` : form.review } : {}),
    };
}

// The body of PUT /v1/boards/{board}, as text.
export function bodyOf(form: Form): string {
    const column = (c: { type: string; order: string; decimals: string }) =>
        ({ type: c.type, order: c.order, ...(c.type === 'decimal' ? { decimals: Number(c.decimals) } : {}) });
    const { rating: _, ...rest } = form.rest;
    if (form.kind === 'sketch') return sketchBody(form, rest, column(form));
    return withDigits((exact) => ({
        ...rest,
        title: form.title.trim() || form.id.trim(),
        score: column(form),
        ...(form.columns.length ? { columns: form.columns.map((c) => ({ name: c.name, ...column(c) })) } : {}),
        update: form.update,
        ...(form.update === 'decay' ? { half_life: Number(form.half_life) } : {}),
        ...(isRating(form.update) ? { rating: ratingOf(form, exact) } : judged(form, exact)),
        tie: form.tie,
        rank: form.rank,
        windows: [...KINDS.filter((kind) => form.windows.includes(kind)), ...form.seasons],
        timezone: form.timezone.trim(),
        day_starts: form.day_starts,
        grace: Number(form.grace),
        keep: keepOf(form.keep),
        scopes: form.scopes.split(',').map((s) => s.trim()).filter(Boolean),
        ...(form.team_by.trim() ? { teams: { by: form.team_by.trim(), combine: form.team_combine } } : {}),
        writers: form.writers,
    }));
}

// A sketch board has neither ties nor rules nor teams.
function sketchBody(form: Form, rest: object, score: object): string {
    return JSON.stringify({
        ...rest, kind: form.kind, sketch: form.sketch, memory: /^\d+$/.test(form.memory.trim()) ? Number(form.memory) : form.memory.trim(),
        title: form.title.trim() || form.id.trim(),
        ...(form.sketch === 'distinct' ? {} : { score }),
        ...(form.sketch === 'counts' ? { update: form.update === 'count' ? 'count' : 'sum' } : {}),
        windows: [...KINDS.filter((kind) => form.windows.includes(kind)), ...form.seasons],
        timezone: form.timezone.trim(), day_starts: form.day_starts, grace: Number(form.grace), keep: keepOf(form.keep),
        scopes: form.scopes.split(',').map((s) => s.trim()).filter(Boolean),
        writers: form.writers,
    });
}

// What is empty is left out.
function judged(form: Form, exact: (typed: string) => string): object {
    const has = Object.entries(judging(form, exact)).filter(([, value]) => Object.keys(value).length > 0 || typeof value === 'string');
    const times = isReviewed(form) ? { review_expires: Math.round(Number(form.review_days) * DAY_S * 1000) / 1000, review_outcome: form.review_outcome } : {};
    return { ...Object.fromEntries(has), ...times };
}

// What POST /v1/boards/{board}/rules/check takes: how the form judges submissions.
export function trialOf(form: Form, last: number): string {
    return withDigits((exact) => ({ ...judging(form, exact), ...(form.review ? {} : { review: null }), last }));
}

// Can a submission become tentative?
export function isReviewed(form: Form): boolean {
    return form.review !== '' || form.rules.some((rule) => rule.action === 'review');
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
    form.rules.forEach((rule, i) => {
        const kind = RULES[rule.rule];
        if (!kind) wrong[`rules.${i}`] = 'A rule of a newer server: remove it, or change the board in another way.';
        else if (!ACTIONS.includes(rule.action)) wrong[`rules.${i}`] = 'Refuse, flag or review.';
        else if (kind.measure && !(kind.measure === 'count' ? /^\d+$/ : NUMBER).test(rule.value.trim())) wrong[`rules.${i}`] = kind.measure === 'count' ? 'A whole number.' : 'A number.';
        else if (kind.hasPer && !(Number(rule.per) >= 1 && NUMBER.test(rule.per.trim()))) wrong[`rules.${i}`] = 'Seconds, 1 or more.';
    });
    if (form.kind === 'sketch' && !/^[1-9]\d{0,7}(KiB|MiB)?$/.test(form.memory.trim())) wrong.memory = 'Bytes, or a number with KiB or MiB: 64KiB to 64MiB.';
    if (form.review === 'top' && !/^[1-9]\d*$/.test(form.review_top.trim())) wrong.review = 'A whole number, 1 or more.';
    if (isReviewed(form) && !(Number(form.review_days) > 0)) wrong.review_days = 'Days, more than 0.';
    if (isRating(form.update)) {
        for (const { name } of PARAMETERS[form.update]) {
            const typed = (form.rating[name] || '').trim();
            if (typed && !NUMBER.test(typed) && name !== 'model') wrong[`rating.${name}`] = 'A number, or nothing.';
        }
    }
    return wrong;
}
