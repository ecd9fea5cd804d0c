// SPDX-License-Identifier: Apache-2.0
// A file to POST /v1/scores in batches, one after the other, holding no more than a piece of the file and one batch.
import { CsvReader, scoreLine } from './csv';

export interface Progress {
    size: number;
    sent: number; // bytes of the file
    lines: number;
    accepted: number;
    refused: number;
    refusals: { line: number; why: string }[];
    rate: number;
    elapsed: number; // seconds
    done: boolean;
}

const BATCH_LINES = 2000;
const BATCH_CHARS = 512 * 1024;

interface Line {
    number: number;
    text: string;
}

export async function importFile(file: Blob, isCsv: boolean, board: string, send: (ndjson: string) => Promise<unknown>,
                                 onProgress: (progress: Progress) => void, refusalsMax: number, signal: AbortSignal): Promise<Progress> {
    const started = performance.now();
    const state: Progress = { size: file.size, sent: 0, lines: 0, accepted: 0, refused: 0, refusals: [], rate: 0, elapsed: 0, done: false };
    const report = () => {
        state.elapsed = (performance.now() - started) / 1000;
        state.rate = state.elapsed > 0 ? state.lines / state.elapsed : 0;
        onProgress({ ...state, refusals: state.refusals.slice() });
    };
    const split = isCsv ? csvLines(board) : ndjsonLines(board);
    const reader = file.stream().getReader();
    const decoder = new TextDecoder();
    let batch: Line[] = [], chars = 0, read = 0;
    const flush = async () => {
        if (!batch.length) return;
        if (signal.aborted) throw new DOMException('stopped', 'AbortError');
        const results = resultsOf(await send(batch.map((line) => line.text).join('\n') + '\n'));
        batch.forEach((line, i) => count(state, line, results[i], refusalsMax));
        state.lines += batch.length;
        state.sent = read;
        batch = [];
        chars = 0;
        report();
    };
    report();
    for (;;) {
        const { done, value } = await reader.read();
        read += value ? value.length : 0;
        for (const line of split(done ? decoder.decode() : decoder.decode(value, { stream: true }), done)) {
            batch.push(line);
            chars += line.text.length;
            if (batch.length >= BATCH_LINES || chars >= BATCH_CHARS) await flush();
        }
        if (done) break;
    }
    await flush();
    state.sent = state.size;
    state.done = true;
    report();
    return state;
}

function count(state: Progress, line: Line, result: any, refusalsMax: number): void {
    const status = Number(result?.status ?? 0);
    const isBad = !result || status >= 400 || result.error || result.code || result.problem;
    if (!isBad) {
        state.accepted++;
        return;
    }
    state.refused++;
    const why = result ? result.detail || result.error?.detail || result.error?.message || result.error || result.problem?.detail || result.code || `status ${status}` : 'no answer';
    if (state.refusals.length < refusalsMax) state.refusals.push({ line: line.number, why: String(why) });
}

function resultsOf(answer: unknown): any[] {
    if (Array.isArray(answer)) return answer;
    if (typeof answer === 'string') return answer.split('\n').filter((line) => line.trim()).map((line) => JSON.parse(line));
    return (answer as any)?.results || [answer];
}

function ndjsonLines(board: string): (text: string, end: boolean) => Line[] {
    let rest = '', number = 0;
    return (text, end) => {
        rest += text;
        const parts = rest.split('\n');
        rest = end ? '' : parts.pop()!;
        const lines: Line[] = [];
        for (const part of parts) {
            number++;
            const line = part.trim();
            if (line) lines.push({ number, text: withBoard(line, board) });
        }
        return lines;
    };
}

// A line that names no board gets the default one, without touching a digit of the rest.
export function withBoard(line: string, board: string): string {
    if (!board || !line.startsWith('{')) return line;
    try {
        if ('board' in JSON.parse(line)) return line;
    } catch {
        return line; // the server will say what is wrong with it
    }
    const rest = line.slice(1).trimStart();
    return `{"board":${JSON.stringify(board)}${rest.startsWith('}') ? '' : ','}${rest}`;
}

function csvLines(board: string): (text: string, end: boolean) => Line[] {
    const reader = new CsvReader();
    let number = 1;
    return (text, end) => reader.feed(text, end).map((row) => ({ number: ++number, text: scoreLine(row, board) }));
}
