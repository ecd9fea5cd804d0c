// SPDX-License-Identifier: Apache-2.0
// The audit trail: pages of it, and the whole as a file.
import * as api from './api';
import { csvLine } from './csv';

export interface AuditRecord {
    seq: number;
    at?: string;
    kind: string;
    board?: string;
    player?: string;
    actor?: { key?: string; player?: string; address?: string };
    reason?: string;
    outcome: string;
    code?: string;
    rule?: string;
    before?: unknown;
    after?: unknown;
    details?: unknown;
}

export interface AuditPage {
    records: AuditRecord[];
    next: string | null;
    archived_seq: number;
}

export type AuditFilter = { board?: string; player?: string; actor?: string; kind?: string; from?: string; to?: string };

export const KINDS = ['board defined', 'board deleted', 'board swapped', 'shadow dropped', 'entry removed', 'player erased', 'banned', 'unbanned', 'noted',
    'reviewed', 'refused', 'keys', 'key changed', 'session', 'ids set', 'rules set', 'access set', 'window opened', 'window closed', 'window archived', 'not archived'];
export const EXPORT_MAX = 100000; // records in one file

// The fields of two objects that differ, with both values as text; null where one of them is no object.
export function difference(before: unknown, after: unknown): { field: string; before: string; after: string }[] | null {
    const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);
    if (!isObject(before) || !isObject(after)) return null;
    const show = (value: unknown) => (value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value));
    const fields = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return fields.map((field) => ({ field, before: show(before[field]), after: show(after[field]) })).filter((d) => d.before !== d.after);
}

export function page(filter: AuditFilter, limit: number, after?: string, signal?: AbortSignal): Promise<AuditPage> {
    return api.request('GET', api.address(['audit'], { ...filter, limit, after }), { signal });
}

// All records of the filter, newest first, up to EXPORT_MAX.
export async function all(filter: AuditFilter, onCount: (count: number) => void): Promise<AuditRecord[]> {
    const records: AuditRecord[] = [];
    for (let after: string | undefined; records.length < EXPORT_MAX;) {
        const next = await page(filter, 1000, after);
        records.push(...next.records);
        onCount(records.length);
        if (!next.next) break;
        after = next.next;
    }
    return records;
}

export function toCsv(records: AuditRecord[]): string {
    const head = 'seq,at,kind,board,player,key,token_player,address,reason,outcome,code,rule,before,after,details';
    const lines = records.map((r) => csvLine([r.seq, r.at, r.kind, r.board, r.player, r.actor?.key, r.actor?.player, r.actor?.address, r.reason, r.outcome,
        r.code, r.rule, r.before, r.after, r.details]));
    return [head, ...lines].join('\r\n') + '\r\n';
}

export const toNdjson = (records: AuditRecord[]) => records.map((r) => JSON.stringify(r) + '\n').join('');
