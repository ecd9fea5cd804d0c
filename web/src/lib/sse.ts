// SPDX-License-Identifier: Apache-2.0
// Server-Sent Events by fetch: unlike EventSource it can carry a key in a header and tell a refusal from a lost line.

export interface Message {
    event: string;
    data: string;
    id: string;
}

// Feed text in any pieces; complete messages come out. A line may end in \n, \r\n or \r.
export class SseParser {
    private rest = '';
    private event = '';
    private data: string[] = [];
    private id = '';
    retry: number | null = null;

    feed(text: string): Message[] {
        const out: Message[] = [];
        this.rest += text;
        for (;;) {
            const end = this.rest.search(/[\r\n]/);
            if (end < 0) break;
            if (this.rest[end] === '\r' && end + 1 === this.rest.length) break; // its \n may be on the way
            const line = this.rest.slice(0, end);
            this.rest = this.rest.slice(end + (this.rest[end] === '\r' && this.rest[end + 1] === '\n' ? 2 : 1));
            this.line(line, out);
        }
        return out;
    }

    private line(line: string, out: Message[]): void {
        if (line === '') {
            if (this.data.length) out.push({ event: this.event || 'message', data: this.data.join('\n'), id: this.id });
            this.event = '';
            this.data = [];
            return;
        }
        const colon = line.indexOf(':');
        const field = colon < 0 ? line : line.slice(0, colon);
        const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
        if (field === 'event') this.event = value;
        else if (field === 'data') this.data.push(value);
        else if (field === 'id') this.id = value;
        else if (field === 'retry' && /^\d+$/.test(value)) this.retry = +value;
    }
}

export class Refused extends Error {
    constructor(readonly status: number) {
        super(`refused with ${status}`);
    }
}

// Reads messages until the stream ends (returns) or fails (throws). `onOpen` is called once the server has agreed.
export async function readEvents(url: string, headers: Record<string, string>, signal: AbortSignal,
                                 onOpen: () => void, onMessage: (message: Message) => void,
                                 onBytes: () => void): Promise<void> {
    const response = await fetch(url, { headers: { Accept: 'text/event-stream', ...headers }, signal, cache: 'no-store' });
    const type = response.headers.get('content-type') || '';
    if (!response.ok || !type.startsWith('text/event-stream') || !response.body) throw new Refused(response.status);
    onOpen();
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    const parser = new SseParser();
    for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        onBytes();
        for (const message of parser.feed(decoder.decode(value, { stream: true }))) onMessage(message);
    }
}
