// SPDX-License-Identifier: Apache-2.0
// Where we are: everything after the # is path and query, so that any address can be shared and the server needs to
// know of one page only. Parts of the path are percent-encoded.

export interface Route {
    path: string[];
    query: Record<string, string>;
}

export function parse(hash: string): Route {
    const text = hash.replace(/^#\/?/, '');
    const mark = text.indexOf('?');
    const path = (mark < 0 ? text : text.slice(0, mark)).split('/').filter(Boolean).map(decode);
    const query: Record<string, string> = {};
    if (mark >= 0) new URLSearchParams(text.slice(mark + 1)).forEach((value, key) => (query[key] = value));
    return { path, query };
}

export function href(path: string[], query: Record<string, string | undefined | null> = {}): string {
    const search = new URLSearchParams();
    for (const [key, value] of Object.entries(query)) if (value) search.set(key, value);
    const tail = search.toString();
    return '#/' + path.map(encodeURIComponent).join('/') + (tail ? '?' + tail : '');
}

function decode(part: string): string {
    try {
        return decodeURIComponent(part);
    } catch {
        return part;
    }
}
