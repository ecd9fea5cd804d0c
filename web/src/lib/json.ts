// SPDX-License-Identifier: Apache-2.0
// JSON without losing digits: scores are exact 64-bit integers or decimals, a JavaScript number is not. A number that would
// come out with other digits than it was sent with stays text.

export type Exact = number | string;

const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;
const SAFE_DIGITS = 15; // so many any double keeps

export function parseExact(text: string): any {
    if (!/\d[\d.]{15}/.test(text)) return JSON.parse(text);
    return JSON.parse(text.replace(TOKEN, (token) => (token[0] === '"' || isKept(token) ? token : `"${token}"`)));
}

function isKept(token: string): boolean {
    return token.replace(/\D/g, '').length <= SAFE_DIGITS || String(Number(token)) === token;
}
