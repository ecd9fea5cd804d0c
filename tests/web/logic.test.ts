// SPDX-License-Identifier: Apache-2.0
// The console's logic, without a browser. Bundled by esbuild and run by node --test (tests/e2e/test_console_units.py).
import { deepStrictEqual as same, strictEqual as is, ok } from 'node:assert';
import { test } from 'node:test';
import { difference, toCsv, toNdjson } from '../../web/src/lib/audit';
import { CsvReader, scoreLine } from '../../web/src/lib/csv';
import { bodyOf, emptyForm, formOf, mistakes, trialOf } from '../../web/src/lib/definition';
import * as format from '../../web/src/lib/format';
import { importFile, withBoard, type Progress } from '../../web/src/lib/importer';
import { parseExact } from '../../web/src/lib/json';
import { foldPage, times, watch } from '../../web/src/lib/live';
import { freshMoves } from '../../web/src/lib/moves';
import { buckets, parseMetrics, quantile, total } from '../../web/src/lib/metrics';
import { pickSeries } from '../../web/src/lib/series';
import { href, parse } from '../../web/src/lib/route';
import { spread } from '../../web/src/lib/spread';
import { SseParser } from '../../web/src/lib/sse';
import { evidence, excess } from '../../web/src/lib/trust';

test('long numbers keep every digit', () => {
    const text = '{"score":9223372036854775807,"a":[1.5,-9223372036854775808],"name":"x 1234567890123456789 \\" 9223372036854775807","d":123456789.123456789}';
    same(parseExact(text), { score: '9223372036854775807', a: [1.5, '-9223372036854775808'], name: 'x 1234567890123456789 " 9223372036854775807', d: '123456789.123456789' });
    same(parseExact('{"n":12}'), { n: 12 });
    same(parseExact('[99.81308411214954,9007199254740993,9007199254740992,-0.5]'), [99.81308411214954, '9007199254740993', 9007199254740992, -0.5]);
});

test('scores as people read them', () => {
    const thin = '\u202f';
    is(format.score(4200), '4200');
    is(format.score(-12345), `\u221212${thin}345`);
    is(format.score('9223372036854775807'), ['9', '223', '372', '036', '854', '775', '807'].join(thin));
    is(format.score(12.5, 3), '12.500');
    is(format.score('1234567890.123456789', 9), ['1', '234', '567', '890.123456789'].join(thin));
    is(format.score('inf'), 'inf');
    is(format.score(0.1 + 0.2), '0.3');
    is(format.score(null), '–');
    is(format.topShare(1, 1000000), `0.01${thin}%`);
    is(format.topShare(1107, 3000), `37${thin}%`);
    is(format.percent(99.99), '99.9');
    is(format.windowId('2026-W46'), 'Week 46, 2026');
    is(format.windowId('2026-11-15'), '15 Nov 2026');
    is(format.windowId('2026-11'), 'November 2026');
    is(format.windowId('autumn'), 'autumn');
    is(format.scopeValue('country', 'FI'), 'Finland');
    is(format.scopeValue('country', 'Nowhere'), 'Nowhere');
    is(format.initials('Ada Lovelace'), 'AL');
    is(format.initials('  '), '?');
    is(format.bytes(1536), `1.5${thin}kB`);
    is(format.seconds(0.00042), `420${thin}µs`);
});

test('addresses go around', () => {
    const route = { path: ['b', 'race / 50 %', 'ä'], query: { scope: 'country:FI', player: 'a&b=c' } };
    same(parse(href(route.path, route.query)), route);
    same(parse(''), { path: [], query: {} });
    same(parse('#/b/%zz'), { path: ['b', '%zz'], query: {} });
});

test('server-sent events come whole out of any pieces', () => {
    const text = ': hello\r\nid: 7\nevent: state\ndata: {"a":1}\ndata: two\r\n\r\nretry: 250\n\rdata:x\n\n';
    const want = [{ event: 'state', data: '{"a":1}\ntwo', id: '7' }, { event: 'message', data: 'x', id: '7' }];
    for (let size = 1; size <= text.length; size++) {
        const parser = new SseParser();
        const got = [];
        for (let i = 0; i < text.length; i += size) got.push(...parser.feed(text.slice(i, i + size)));
        same(got, want, `pieces of ${size}`);
        is(parser.retry, 250);
    }
});

test('arrows add up and fade', () => {
    const before = new Map([['a', 3], ['b', 1]]);
    const first = freshMoves(before, [{ player: 'a', rank: 1 }, { player: 'b', rank: 2 }, { player: 'c', rank: 3 }], new Map(), 1000, 500);
    same([...first], [['a', { by: 2, at: 1000 }], ['b', { by: -1, at: 1000 }]]);
    const ranks = new Map([['a', 1], ['b', 2]]);
    same([...freshMoves(ranks, [{ player: 'a', rank: 2 }, { player: 'b', rank: 1 }], first, 1100, 500)], [['a', { by: 1, at: 1100 }]]);
    same([...freshMoves(ranks, [{ player: 'a', rank: 1 }], first, 9000, 500)], []);
});

test('the series that makes a line', () => {
    const point = (kind: string, rank: number) => ({ at: '2026-11-15T00:00:00Z', rank, score: 1, kind });
    const points = [point('day', 1), point('all', 9), point('day', 2), point('week', 3), point('week', 4), point('day', 5)];
    same(pickSeries(points, 'week')!.points.map((p) => p.rank), [3, 4]);
    is(pickSeries(points, 'all')!.kind, 'day');
    is(pickSeries(points.slice(0, 2), 'all'), null);
    is(pickSeries([], 'all'), null);
});

test('differences lead from one state to the next', () => {
    const entry = (player: string, place: number) => ({ player, place, rank: place, score: 100 - place });
    const say = (event: string, data: object) => ({ event, data: JSON.stringify(data), id: '' });
    const first = foldPage(null, say('state', { seq: 5, total: 9, entries: [entry('a', 1), entry('b', 2), entry('c', 3)] }))!;
    const next = foldPage(first, say('change', { since: 5, seq: 7, total: 10, changed: [entry('d', 1), entry('a', 2), entry('b', 3)], gone: ['c'] }))!;
    same(next, { seq: 7, total: 10, entries: [entry('d', 1), entry('a', 2), entry('b', 3)] });
    is(foldPage(next, say('change', { since: 8, seq: 9, total: 10, changed: [], gone: [] })), null);
    is(foldPage(null, say('change', { since: 5, seq: 7, total: 1, changed: [], gone: [] })), null);
    is(foldPage(next, say('end', { why: 'stopping' })), undefined);
});

// fetch answers from a list: a Response, or a failure where there is null.
function answers(list: (Response | null)[], seen: (string | null)[]) {
    globalThis.fetch = (async (_url: string, options: RequestInit) => {
        seen.push(new Headers(options.headers).get('last-event-id'));
        const next = list.shift();
        if (next === undefined) await new Promise((_, fail) => options.signal!.addEventListener('abort', () => fail(new Error('aborted'))));
        if (!next) throw new TypeError('no connection');
        return next;
    }) as typeof fetch;
}

const events = (text: string) => new Response(text, { headers: { 'content-type': 'text/event-stream' } });

async function watched(list: (Response | null)[], polls: (number | null)[], isEnough: (said: string[]) => boolean) {
    const said: string[] = [], seen: (string | null)[] = [];
    Object.assign(times, { poll: 1, retryMin: 1, retryMax: 2, streamAgain: 60000 });
    answers(list, seen);
    let stop = () => {};
    await new Promise<void>((resolve) => {
        const say = (text: string) => {
            said.push(text);
            if (isEnough(said)) resolve();
        };
        stop = watch<number>({
            streamUrl: '/x',
            poll: async () => {
                const next = polls.length > 1 ? polls.shift() : polls[0];
                if (next == null) throw new Error('down');
                return next;
            },
            fold: (state, message) => (state || 0) + Number(message.data),
            onState: (state) => say(String(state)),
            onStatus: (status) => say(status),
        });
    });
    stop();
    return { said, seen };
}

test('a stream that breaks goes on where it stopped', async () => {
    const { said, seen } = await watched([events('id: 5\ndata: 10\n\nid: 6\ndata: 1\n\n'), null, events('id: 7\ndata: 2\n\n')], [null], (s) => s.includes('13'));
    same(said.filter((text) => /\d/.test(text)), ['10', '11', '13']);
    same(seen.slice(0, 3), [null, '6', '6']);
    ok(said.indexOf('live') < said.indexOf('10') && said.includes('offline'));
});

test('where there is no stream, asking again does', async () => {
    const { said } = await watched([new Response('{}', { status: 404 })], [1, 2, 3], (s) => s.includes('3'));
    same(said.slice(0, 6), ['connecting', '1', 'polling', '2', 'polling', '3']);
});

test('metrics', () => {
    const text = (n: number) => `# HELP x y\nrung_http_requests_total{route="/a",status="200"} ${n}\nrung_http_requests_total{route="b\\"}"} 2\n`
        + `t_bucket{le="0.1"} ${n}\nt_bucket{le="0.2"} ${2 * n}\nt_bucket{le="+Inf"} ${2 * n}\n`;
    const a = parseMetrics(text(10)), b = parseMetrics(text(20));
    is(total(a, 'rung_http_requests_total'), 12);
    is(total(a, 'rung_http_requests_total', { route: 'b"}' }), 2);
    is(total(a, 'none'), null);
    is(quantile(buckets(a, 't'), buckets(b, 't'), 0.5), 0.1);
    ok(Math.abs(quantile(buckets(a, 't'), buckets(b, 't'), 0.75)! - 0.15) < 1e-9);
    is(quantile(buckets(a, 't'), buckets(a, 't'), 0.5), null);
});

test('csv in any pieces', () => {
    const text = '\ufeffplayer,score,note\r\nada,9223372036854775807,"a ""b"", c"\n\nbob,1.5,"two\nlines"\neve,x';
    const want = [{ player: 'ada', score: '9223372036854775807', note: 'a "b", c' }, { player: 'bob', score: '1.5', note: 'two\nlines' }, { player: 'eve', score: 'x', note: '' }];
    for (let size = 1; size <= text.length; size++) {
        const reader = new CsvReader();
        const got = [];
        for (let i = 0; i < text.length; i += size) got.push(...reader.feed(text.slice(i, i + size)));
        got.push(...reader.feed('', true));
        same(got, want, `pieces of ${size}`);
    }
    is(scoreLine(want[0], 'race'), '{"board":"race","player":"ada","score":9223372036854775807,"columns":{"note":"a \\"b\\", c"}}');
    is(scoreLine({ player: 'eve', score: 'x', at: '1700000000000', board: 'b' }, 'race'), '{"board":"b","player":"eve","score":"x","at":1700000000000}');
    is(scoreLine({ player: 'a', score: '1', deaths: '2', meta: '{"l":3}', id: '7' }, 'r'), '{"board":"r","player":"a","score":1,"meta":{"l":3},"id":"7","columns":{"deaths":2}}');
});

test('a file is imported in batches and refusals name their lines', async () => {
    const lines = Array.from({ length: 4500 }, (_, i) => (i === 3000 ? '' : `{"player":"p${i}","score":${i}}`));
    const batches: number[] = [];
    const seen: Progress[] = [];
    const send = async (text: string) => {
        const sent = text.trim().split('\n');
        batches.push(sent.length);
        ok(sent.every((line) => line.startsWith('{"board":"race","player"')));
        return sent.map((line) => (line.includes('"p4000"') ? '{"status":422,"code":"refused","detail":"score: too high"}' : '{"changed":true}')).join('\n');
    };
    const end = await importFile(new Blob([lines.join('\n')]), false, 'race', send, (p) => seen.push(p), 10, new AbortController().signal);
    same(batches, [2000, 2000, 499]);
    is(end.accepted, 4498);
    same(end.refusals, [{ line: 4001, why: 'score: too high' }]);
    ok(end.done && seen.length > 3 && seen[seen.length - 1].done);
    is(withBoard('{"board":"x"}', 'race'), '{"board":"x"}');
    is(withBoard('{ }', 'race'), '{"board":"race"}');
    is(withBoard('nonsense', 'race'), 'nonsense');
});

test('a definition survives the form', () => {
    const board = {
        id: 'race', title: 'Race', score: { type: 'decimal' as const, order: 'asc' as const, decimals: 3 }, columns: [{ name: 'deaths', type: 'integer' as const, order: 'asc' as const }],
        update: 'best', tie: 'first', rank: 'dense', windows: ['all', 'week', { name: 's1', starts: '2026-01-01T00:00:00Z', ends: '2026-02-01T00:00:00Z' }],
        timezone: 'Europe/Helsinki', day_starts: '04:00', grace: 60, keep: 3, scopes: ['country', 'guild'], teams: { by: 'guild', combine: 'top:5' }, limits: { max: '9223372036854775807' }, writers: 'server',
    };
    const form = formOf(board);
    same(mistakes(form), {});
    const body = bodyOf(form);
    ok(body.includes('"limits":{"max":9223372036854775807}'), body);
    const { id, limits, ...rest } = board;
    const { limits: _, ...back } = JSON.parse(body);
    same(back, rest);
    const kinds = formOf({ ...board, keep: { hour: 48, other: 0 } });
    same([kinds.keep, mistakes(kinds), JSON.parse(bodyOf(kinds)).keep], ['hour=48, other=0', {}, { hour: 48, other: 0 }]);
    same(Object.keys(mistakes({ ...kinds, keep: 'minute=3' })), ['keep']);
    same(Object.keys(mistakes({ ...emptyForm(), windows: [], grace: 'x' })).sort(), ['grace', 'id', 'windows']);
});

test('rules, reviews, ratings and what has no field survive the form', () => {
    const common = { id: 'b', title: 'B', score: { type: 'integer' as const, order: 'desc' as const }, columns: [], tie: 'first', rank: 'sparse', windows: ['all'], timezone: 'UTC',
        day_starts: '00:00', grace: 0, keep: 2, scopes: [], writers: 'player' };
    const rules = [{ rule: 'max', value: '9223372036854775807', action: 'refuse' }, { rule: 'max_rate', value: 100, per: 60, action: 'flag' }, { rule: 'attested_seed', action: 'review' }];
    const judged = { ...common, update: 'best', rules, review: 'top:5', review_expires: 86400, review_outcome: 'promote', snapshots: { every: '1m' } };
    const form = formOf(judged);
    same(mistakes(form), {});
    const body = bodyOf(form);
    ok(body.includes('"value":9223372036854775807'), body);
    const back = JSON.parse(body);
    same([back.rules[1], back.rules[2], back.review, back.review_expires, back.review_outcome, back.snapshots],
        [rules[1], rules[2], 'top:5', 86400, 'promote', { every: '1m' }]);
    same(JSON.parse(trialOf({ ...form, review: '', rules: form.rules.slice(1) }, 1000)), { limits: {}, rules: rules.slice(1), review: null, last: 1000 });
    same(Object.keys(mistakes({ ...form, rules: [{ rule: 'submissions', value: '1.5', per: '60', action: 'flag' }, { rule: 'max_rate', value: '5', per: '0', action: 'flag' }] })), ['rules.0', 'rules.1']);
    const rating = { initial: 1500, tau: 0.5, normal: false, rules: [{ games_under: 30, k: 40 }], floor: null };
    const rated = JSON.parse(bodyOf(formOf({ ...common, update: 'elo', rating })));
    same([rated.rating, 'rules' in rated, 'review_expires' in rated], [{ initial: 1500, tau: 0.5, normal: false, rules: rating.rules }, false, false]);
});

test('evidence in words', () => {
    const thin = '\u202f';
    is(evidence({ rule: 'max', action: 'review', value: 12500, limit: 5000 }), `12${thin}500, limit 5000`);
    is(evidence({ rule: 'z_player', action: 'review', value: 61.147, limit: 6 }), '61.1 deviations, limit 6');
    is(evidence({ rule: 'attested_seed', action: 'flag' }), 'not attested');
    is(evidence({ rule: 'top', action: 'review', value: 1, limit: 10 }), 'place 1 of the first 10');
    same([excess({ rule: 'max', action: 'flag', value: 50, limit: 5 }), excess({ rule: 'max', action: 'flag', value: 5, limit: 5 }), excess({ rule: 'x', action: 'flag', value: 900, limit: 1 })], [1, null, 1]);
    same(difference({ a: 1, b: [2], c: 'x' }, { a: 1, b: [3], d: true }), [{ field: 'b', before: '[2]', after: '[3]' }, { field: 'c', before: 'x', after: '' }, { field: 'd', before: '', after: 'true' }]);
    is(difference(null, {}), null);
});

test('a histogram from parts of equal count', () => {
    const parts = Array.from({ length: 100 }, (_, i) => ({ low: i * 10, high: i * 10 + 10, count: 5 }));
    const even = spread(parts, 10)!;
    same([even.low, even.width, even.isCut], [0, 100, false]);
    same(even.counts, Array(10).fill(50));
    same(spread(parts.slice().reverse(), 10)!.counts, even.counts); // best first, as the server lists them
    const cut = spread([...parts, { low: 5e6, high: 9e6, count: 2 }], 10)!; // two far outside
    ok(cut.isCut && cut.low < 20 && cut.low + 10 * cut.width < 1001, JSON.stringify(cut));
    ok(Math.abs(cut.counts.reduce((a, b) => a + b) - 490) < 5 && Math.min(...cut.counts) > 45, String(cut.counts));
    same(spread([{ low: 3, high: 3, count: 4 }, { low: 5, high: 5, count: 1 }], 2)!.counts, [4, 1]); // few scores, no width
    is(spread([{ low: 3, high: 3, count: 9 }], 10), null);
    is(spread([], 10), null);
});

test('an audit trail as a file', () => {
    const records = [
        { seq: 7, at: '2026-11-18T08:00:00Z', kind: 'banned', player: 'a,"b"', actor: { key: 'k1', address: '::1' }, reason: '=HYPERLINK("x")', outcome: 'done', after: { banned: true } },
        { seq: 8, kind: 'refused', board: 'race', outcome: 'refused', code: 'limit', rule: 'max_step' },
    ];
    const lines = toCsv(records).split('\r\n');
    is(lines.length, 4);
    is(lines[0].split(',').length, 15);
    is(lines[1], '7,2026-11-18T08:00:00Z,banned,,"a,""b""",k1,,::1,"\'=HYPERLINK(""x"")",done,,,,"{""banned"":true}",'); // no formula
    is(lines[2], '8,,refused,race,,,,,,refused,limit,max_step,,,');
    same(toNdjson(records).trim().split('\n').map((line) => JSON.parse(line)), records);
});
