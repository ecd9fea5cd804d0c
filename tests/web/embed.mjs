// SPDX-License-Identifier: Apache-2.0
// The page of docs/embed.md in a browser: on another origin than the server, and from disk. Run by tests/e2e/test_console_embed.py.
import { ask, base, finish, launch, open, same, shoot, story, until } from './browser.mjs';

const browser = await launch();
const names = (frame) => frame.locator('.ranking [data-id] .name').allInnerTexts();

await story('one line on a page', async () => {
    const page = await open(browser);
    await page.goto(base + '/');
    const frame = page.frameLocator('iframe');
    await until(async () => (await frame.locator('.ranking [data-id]').count()) === 3, 'three players');
    same(await names(frame), ['Ada Lovelace', 'bob', 'cleo'], 'best first');
    same(await page.locator('script + iframe + p').innerText(), 'Good luck!', 'the board stands where the line is');
    await ask('more');
    await until(async () => (await names(frame))[0] === 'cleo', 'a new leader, without asking');
    await shoot(page, 'embed');
    await page.context().close();
});

await story('as a frame', async () => {
    const page = await open(browser);
    await page.goto(base + '/frame');
    await until(async () => (await page.frameLocator('iframe').locator('.ranking [data-id]').count()) === 3, 'three players');
    await page.context().close();
});

await story('both, saved and opened from disk', async () => {
    for (const file of ['page.html', 'frame.html']) {
        const page = await open(browser);
        await page.goto(`${process.env.RUNG_SAVED}/${file}`);
        await until(async () => (await page.frameLocator('iframe').locator('.ranking [data-id]').count()) === 3, `three players in ${file}`);
        await page.context().close();
    }
});

await browser.close();
finish();
