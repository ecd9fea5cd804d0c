// SPDX-License-Identifier: Apache-2.0
// Numbers, scores and times as people read them.
import type { Exact } from './json';

const THIN = '\u202f';
const MINUS = '\u2212';

// Groups digits of a plain decimal number given as text; exact for any length.
export function group(text: string): string {
    const match = /^(-?)(\d+)(\.\d+)?$/.exec(text);
    if (!match) return text;
    const whole = match[2].length > 4 ? match[2].replace(/\B(?=(\d{3})+$)/g, THIN) : match[2];
    return (match[1] ? MINUS : '') + whole + (match[3] || '');
}

export function count(value: number | undefined | null): string {
    return value == null ? '–' : group(String(Math.round(value)));
}

// A score as the board shows it: all decimals of a decimal board, what is there of a real one.
export function score(value: Exact | null | undefined, decimals?: number): string {
    if (value == null) return '–';
    if (typeof value === 'string') return group(value);
    if (decimals != null) return group(value.toFixed(decimals));
    if (Number.isInteger(value)) return Math.abs(value) < 1e15 ? group(String(value)) : String(value);
    const fixed = Math.abs(value) >= 1e6 || Math.abs(value) < 1e-3 ? value.toPrecision(6) : String(+value.toFixed(3));
    return group(fixed);
}

export function percent(value: number | null | undefined): string {
    if (value == null) return '–';
    if (value >= 99.95 && value < 100) return '99.9';
    return value === 100 ? '100' : value.toFixed(1);
}

// "Top 3.2 %": what players say, from the share at or below.
export function topShare(rank: number, total: number): string {
    const share = 100 * rank / Math.max(total, 1);
    if (share >= 10) return `${Math.ceil(share)}${THIN}%`;
    if (share >= 1) return `${(Math.ceil(share * 10) / 10).toFixed(1)}${THIN}%`;
    return `${Math.max(0.01, Math.ceil(share * 100) / 100).toFixed(2)}${THIN}%`;
}

export function bytes(value: number | null | undefined): string {
    if (value == null || !Number.isFinite(value)) return '–';
    const units = ['B', 'kB', 'MB', 'GB', 'TB'];
    let unit = 0;
    while (value >= 1000 && unit < units.length - 1) {
        value /= 1000;
        unit++;
    }
    return `${value >= 100 || unit === 0 ? Math.round(value) : value.toFixed(1)}${THIN}${units[unit]}`;
}

export function seconds(value: number | null | undefined): string {
    if (value == null || !Number.isFinite(value)) return '–';
    if (value >= 1) return `${value.toFixed(value < 10 ? 2 : 0)}${THIN}s`;
    if (value >= 1e-3) return `${(value * 1e3).toFixed(value < 1e-2 ? 2 : 1)}${THIN}ms`;
    return `${Math.round(value * 1e6)}${THIN}µs`;
}

export function rate(value: number | null | undefined): string {
    if (value == null || !Number.isFinite(value)) return '–';
    return value < 10 ? value.toFixed(1) : count(value);
}

const STEPS: [number, Intl.RelativeTimeFormatUnit][] = [
    [60, 'second'], [3600, 'minute'], [86400, 'hour'], [86400 * 30, 'day'], [86400 * 365, 'month'], [Infinity, 'year']];
const SIZES = [1, 60, 3600, 86400, 86400 * 30, 86400 * 365];
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'narrow' });

export function ago(at: string | null | undefined, now = Date.now()): string {
    if (!at) return '';
    const delta = (Date.parse(at) - now) / 1000;
    if (Number.isNaN(delta)) return '';
    const step = STEPS.findIndex(([limit]) => Math.abs(delta) < limit);
    return relative.format(Math.round(delta / SIZES[step]), STEPS[step][1]);
}

const dateTime = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' });
const dateOnly = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' });

export function when(at: string | number | null | undefined): string {
    if (at == null) return '–';
    const time = new Date(at);
    return Number.isNaN(time.getTime()) ? String(at) : dateTime.format(time);
}

export function day(at: string | null | undefined): string {
    if (!at) return '–';
    const time = new Date(at);
    return Number.isNaN(time.getTime()) ? at : dateOnly.format(time);
}

const WINDOW_NAMES: Record<string, string> = {
    all: 'All time', hour: 'This hour', day: 'Today', week: 'This week', month: 'This month', year: 'This year' };

export function windowName(kind: string): string {
    return WINDOW_NAMES[kind] || kind;
}

// "2026-W46" -> "Week 46, 2026"; "2026-11" -> "November 2026".
export function windowId(id: string): string {
    const week = /^(\d{4})-W(\d\d)$/.exec(id);
    if (week) return `Week ${+week[2]}, ${week[1]}`;
    if (/^\d{4}-\d\d-\d\d$/.test(id)) return day(id + 'T00:00:00Z');
    const month = /^(\d{4})-(\d\d)$/.exec(id);
    if (month) {
        return new Date(Date.UTC(+month[1], +month[2] - 1)).toLocaleDateString('en-GB',
            { month: 'long', year: 'numeric', timeZone: 'UTC' });
    }
    const hour = /^(\d{4}-\d\d-\d\d)T(\d\d)$/.exec(id);
    if (hour) return `${day(hour[1] + 'T00:00:00Z')}, ${hour[2]}:00`;
    return id === 'all' ? windowName('all') : id;
}

const regions = typeof Intl.DisplayNames === 'function' ? new Intl.DisplayNames('en', { type: 'region' }) : null;

// The value of an attribute for people: countries by name, everything else as it is.
export function scopeValue(attribute: string, value: string): string {
    if (attribute === 'country' && /^[A-Z]{2}$/.test(value) && regions) {
        try {
            return regions.of(value) || value;
        } catch {
            return value;
        }
    }
    return value;
}

export function initials(name: string): string {
    const words = name.trim().split(/[\s._-]+/).filter(Boolean);
    const letters = words.length > 1 ? [words[0], words[words.length - 1]] : words;
    return letters.map((word) => Array.from(word)[0]).join('').toUpperCase() || '?';
}

// A steady hue for a name, so that a player looks the same on every board.
export function hue(id: string): number {
    let hash = 2166136261;
    for (let i = 0; i < id.length; i++) hash = Math.imul(hash ^ id.charCodeAt(i), 16777619);
    return (hash >>> 0) % 12;
}

// A time as an input of the type datetime-local has it, in the browser's zone, and back.
export function toLocal(at: string | null | undefined): string {
    const time = at ? new Date(at) : null;
    if (!time || Number.isNaN(time.getTime())) return '';
    return new Date(time.getTime() - time.getTimezoneOffset() * 60000).toISOString().slice(0, 19);
}

export function fromLocal(text: string): string {
    const time = text ? new Date(text) : null;
    return time && !Number.isNaN(time.getTime()) ? time.toISOString() : '';
}

const exactTime = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

// "18 Nov 2026, 14:03:22", or a position in the log.
export function moment(at: string): string {
    if (/^\d+$/.test(at)) return `event ${group(at)}`;
    const time = new Date(at);
    return Number.isNaN(time.getTime()) ? at : exactTime.format(time);
}
