// SPDX-License-Identifier: Apache-2.0
// JSON without losing digits: scores are exact 64-bit integers or decimals, a JavaScript number is not. A number with
// 16 digits or more stays text; shorter ones are numbers.

export type Exact = number | string;

const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;

export function parseExact(text: string): any {
    if (!/\d[\d.]{15}/.test(text)) return JSON.parse(text);
    return JSON.parse(text.replace(TOKEN, (token) =>
        token[0] !== '"' && token.replace(/\D/g, '').length >= 16 ? `"${token}"` : token));
}
