// SPDX-License-Identifier: Apache-2.0
// Chromium for the tests of the console. Every page is watched: a console error, an exception, a violation of the
// policy or a request to another origin fails the test at the end, unless it was expected.
import { createRequire } from 'node:module';
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';

const require = createRequire(path.join(process.env.RUNG_NODE_MODULES, 'x.js'));
const { chromium } = require('playwright-core');
const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

export const base = process.env.RUNG_BASE;
const shots = process.env.RUNG_SHOTS;
const patience = process.env.RUNG_STORY ? 15000 : 90000; // ms; only met when something is wrong
const problems = [];
const contexts = new Set();
let failed = 0;
const ours = new Set([base, ...(process.env.RUNG_ORIGINS || '').split(' ').filter(Boolean)]);

export async function launch() {
    return chromium.launch({
        executablePath: process.env.RUNG_CHROMIUM,
        args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--disable-background-networking', '--disable-component-update',
            '--disable-sync', '--no-first-run'],
    });
}

// A page of its own context. `expected` are patterns of console errors that belong to the story.
export async function open(browser, { expected = [], ...options } = {}) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, locale: 'en-GB', timezoneId: 'UTC', ...options });
    contexts.add(context);
    context.on('close', () => contexts.delete(context));
    context.setDefaultTimeout(patience);
    await context.addInitScript(() => {
        addEventListener('securitypolicyviolation', (event) => console.error(`policy violated: ${event.violatedDirective} ${event.blockedURI}`));
    });
    const page = await context.newPage();
    page.expected = expected;
    page.on('console', (message) => {
        const text = `${message.text()} ${message.location().url}`;
        if (message.type() === 'error' && !page.expected.some((pattern) => pattern.test(text))) problems.push(`console: ${text}`);
    });
    page.on('pageerror', (error) => problems.push(`exception: ${error.stack}`));
    page.on('request', (request) => {
        const url = new URL(request.url());
        if (!['data:', 'file:'].includes(url.protocol) && !ours.has(url.origin)) problems.push(`a request to ${url.origin}`);
    });
    return page;
}

export async function shoot(page, name, fullPage = false) {
    await page.screenshot({ path: path.join(shots, `${name}.png`), fullPage });
}

// No violation of WCAG 2 A and AA that axe can find.
export async function accessible(page, what) {
    await settled(page);
    const found = await page.evaluate(`(() => { const module = undefined; ${axe}; return axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'] }); })()`);
    for (const violation of found.violations) {
        problems.push(`axe, ${what}: ${violation.id}: ${violation.help}: ${violation.nodes.slice(0, 3).map((node) => node.html).join(' | ')}`);
    }
}

// Nothing sticks out to the right, once the charts have heard of a new width.
export async function fits(page, what) {
    const over = () => document.documentElement.scrollWidth - document.documentElement.clientWidth;
    await page.waitForFunction(`(${over})() <= 0`).catch(async () => problems.push(`${what}: ${await page.evaluate(over)} px wider than the screen`));
}

// Animations are over: colours are what they will be.
export async function settled(page) {
    await page.evaluate(() => Promise.all(document.getAnimations().filter((a) => a.effect.getTiming().iterations !== Infinity).map((a) => a.finished.catch(() => 0))));
}

export function check(is, what) {
    if (!is) throw new Error(`failed: ${what}`);
}

export function same(got, want, what) {
    check(JSON.stringify(got) === JSON.stringify(want), `${what}: ${JSON.stringify(got)} is not ${JSON.stringify(want)}`);
}

// Ask the test around us (the one with the server) for something; its answer is one line.
const lines = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();
export async function ask(what, argument = '') {
    console.log(`@${what} ${argument}`);
    return JSON.parse((await lines.next()).value);
}

// Poll until it is so; the limit is only met when something is wrong.
export async function until(condition, what) {
    const end = Date.now() + patience;
    while (Date.now() < end) {
        if (await condition()) return;
        await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(`${what} did not happen`);
}

// A score, as a game would send it.
export async function submit(board, player, score, more = {}) {
    const answer = await fetch(`${base}/v1/boards/${board}/scores`, {
        method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ player, score, ...more }) });
    check(answer.ok, `a score of ${player}: ${answer.status}`);
    return answer.json();
}

export const names = (page) => page.locator('.ranking [data-id]').evaluateAll((rows) => rows.map((row) => row.dataset.id));
export const first = (page) => page.locator('.ranking [data-id]').first();
export const go = async (page, address) => {
    await page.goto(base + '/' + address);
    await page.locator('h1').first().waitFor();
};

// Stories that do not disturb each other, at the same time; each lane tells its own in order.
export async function lanes(...tell) {
    await Promise.all(tell.map((lane) => lane()));
}

// RUNG_STORY, a regular expression, tells only some of them: for work on a page.
export async function story(name, tell) {
    if (process.env.RUNG_STORY && !new RegExp(process.env.RUNG_STORY).test(name)) return;
    const started = Date.now();
    try {
        await tell();
    } catch (error) {
        for (const context of contexts) for (const page of context.pages()) await shoot(page, `failed-${++failed}`, true).catch(() => undefined); // what was on the screens then
        throw error;
    }
    console.log(`ok ${name} (${((Date.now() - started) / 1000).toFixed(1)} s)`);
}

export function finish() {
    for (const problem of new Set(problems)) console.error(problem);
    process.exit(problems.length ? 1 : 0);
}
