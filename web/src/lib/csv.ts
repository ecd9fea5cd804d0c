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

// One submission as a line of NDJSON. A number is passed on as it is written, so that no digit is lost.
export function scoreLine(row: Record<string, string>, board: string): string {
    const parts: string[] = [`"board":${JSON.stringify(row.board || board)}`];
    for (const [name, value] of Object.entries(row)) {
        if (name === 'board' || value === '') continue;
        const isNumber = (name === 'score' || name === 'delta') && /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(value);
        const isMillis = name === 'at' && /^\d+$/.test(value);
        parts.push(`${JSON.stringify(name)}:${isNumber || isMillis ? value : JSON.stringify(value)}`);
    }
    return `{${parts.join(',')}}`;
}
