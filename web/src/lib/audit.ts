// SPDX-License-Identifier: Apache-2.0
// The audit trail: pages of it, and the whole as a file.
import * as api from './api';

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

export const KINDS = ['board defined', 'board deleted', 'entry removed', 'player erased', 'banned', 'unbanned', 'keys', 'key changed', 'refused',
    'ids set', 'rules set', 'access set', 'window opened', 'window closed', 'window archived', 'not archived'];
export const EXPORT_MAX = 100000; // records in one file

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

const text = (value: unknown) => (value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value));

// A field that a spreadsheet must not take for a formula, quoted where needed.
function field(value: unknown): string {
    let shown = text(value);
    if (/^[=+\-@\t\r]/.test(shown)) shown = "'" + shown;
    return /[",\r\n]/.test(shown) ? '"' + shown.replace(/"/g, '""') + '"' : shown;
}

export function toCsv(records: AuditRecord[]): string {
    const head = 'seq,at,kind,board,player,key,token_player,address,reason,outcome,code,rule,before,after,details';
    const lines = records.map((r) => [r.seq, r.at, r.kind, r.board, r.player, r.actor?.key, r.actor?.player, r.actor?.address, r.reason, r.outcome,
        r.code, r.rule, r.before, r.after, r.details].map(field).join(','));
    return [head, ...lines].join('\r\n') + '\r\n';
}

export const toNdjson = (records: AuditRecord[]) => records.map((r) => JSON.stringify(r) + '\n').join('');
