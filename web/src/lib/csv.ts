// SPDX-License-Identifier: Apache-2.0
// CSV into the lines of POST /v1/scores, piece by piece: quotes, doubled quotes, \r\n; the first line names the columns.

export class CsvReader {
    private rest = '';
    private header: string[] | null = null;

    // Complete rows of what was fed so far, as objects by column name; `end` takes the last line too.
    feed(text: string, end = false): Record<string, string>[] {
        this.rest += text;
        const rows: Record<string, string>[] = [];
        let at = 0;
        for (;;) {
            const row = this.row(at, end);
            if (!row) break;
            at = row.next;
            if (row.cells.length === 1 && row.cells[0] === '') continue;
            if (!this.header) {
                this.header = row.cells.map((cell) => cell.trim().replace(/^\ufeff/, ''));
                continue;
            }
            const object: Record<string, string> = {};
            this.header.forEach((name, i) => (object[name] = row.cells[i] ?? ''));
            rows.push(object);
        }
        this.rest = this.rest.slice(at);
        return rows;
    }

    get columns(): string[] {
        return this.header || [];
    }

    private row(from: number, end: boolean): { cells: string[]; next: number } | null {
        const text = this.rest;
        if (from >= text.length) return null;
        const cells: string[] = [];
        let cell = '', quoted = false, i = from;
        for (; i < text.length; i++) {
            const c = text[i];
            if (quoted) {
                if (c !== '"') cell += c;
                else if (text[i + 1] === '"') (cell += '"'), i++;
                else if (i + 1 === text.length && !end) return null; // a second quote may follow
                else quoted = false;
            } else if (c === '"' && cell === '') {
                quoted = true;
            } else if (c === ',') {
                cells.push(cell);
                cell = '';
            } else if (c === '\n') {
                cells.push(cell.replace(/\r$/, ''));
                return { cells, next: i + 1 };
            } else {
                cell += c;
            }
        }
        if (!end) return null;
        cells.push(cell.replace(/\r$/, ''));
        return { cells, next: i };
    }
}

const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;
const FIELDS = ['player', 'score', 'delta', 'at', 'id', 'meta'];

// One submission as a line of NDJSON. Names that are no field of a submission are further columns of the board. A number is
// passed on as it is written, so that no digit is lost.
export function scoreLine(row: Record<string, string>, board: string): string {
    const number = (value: string) => (NUMBER.test(value) ? value : JSON.stringify(value));
    const parts = [`"board":${JSON.stringify(row.board || board)}`];
    const columns: string[] = [];
    for (const [name, value] of Object.entries(row)) {
        if (name === 'board' || value === '') continue;
        if (!FIELDS.includes(name)) columns.push(`${JSON.stringify(name)}:${number(value)}`);
        else if (name === 'score' || name === 'delta') parts.push(`"${name}":${number(value)}`);
        else if (name === 'at') parts.push(`"at":${/^\d+$/.test(value) ? value : JSON.stringify(value)}`);
        else if (name === 'meta') parts.push(`"meta":${isJson(value) ? value : JSON.stringify(value)}`);
        else parts.push(`"${name}":${JSON.stringify(value)}`);
    }
    if (columns.length) parts.push(`"columns":{${columns.join(',')}}`);
    return `{${parts.join(',')}}`;
}

function isJson(text: string): boolean {
    try {
        JSON.parse(text);
        return true;
    } catch {
        return false;
    }
}

// ---- writing ----

const text = (value: unknown) => (value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value));

// A field that a spreadsheet must not take for a formula, quoted where needed.
function field(value: unknown): string {
    let shown = text(value);
    if (typeof value !== 'number' && /^[=+\-@\t\r]/.test(shown)) shown = "'" + shown;
    return /[",\r\n]/.test(shown) ? '"' + shown.replace(/"/g, '""') + '"' : shown;
}

export const csvLine = (values: unknown[]): string => values.map(field).join(',');

export function csvTable(head: string[], rows: unknown[][]): string {
    return [head, ...rows].map(csvLine).join('\r\n') + '\r\n';
}
