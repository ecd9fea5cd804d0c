// SPDX-License-Identifier: Apache-2.0
// The visitor's paths through the console, in a real browser against a real server. Run by tests/e2e/test_console.py,
// which has the server and made the world this looks at; operators' paths are in operate.mjs.
import { accessible, ask, base, check, finish, first, fits, go, lanes, launch, names, open, same, settled, shoot, story, submit, until } from './browser.mjs';

const LOST = /Failed to load resource|ERR_CONNECTION|ERR_EMPTY|ERR_INCOMPLETE|net::ERR/;
const browser = await launch();

// The first lane moves the arena: each score is higher than all before.
await lanes(async () => {
    await story('a visitor finds a board and watches it move', async () => {
        const page = await open(browser);
        await go(page, '');
        await page.getByRole('heading', { name: 'The arena' }).waitFor();
        await page.locator('.board-card ol li .value').first().waitFor();
        await accessible(page, 'boards');
        await shoot(page, 'boards');
        await page.getByRole('link', { name: 'The arena' }).click();
        await page.locator('.ranking [data-id]').nth(20).waitFor();
        check(page.url().includes('#/b/arena'), 'the address names the board');
        check((await names(page)).length === 50, 'fifty places');
        await page.locator('.status.live').first().waitFor();

        const climber = (await names(page))[7];
        await submit('arena', climber, 1000000);
        await until(async () => (await names(page))[0] === climber, 'the climber on top');
        await first(page).locator('.move.up').waitFor();
        check((await first(page).locator('.move.up').innerText()).includes('7'), 'seven places up');
        await page.locator('.chart canvas').first().waitFor();
        await accessible(page, 'board');
        await shoot(page, 'board');
        await page.context().close();
    });

    await story('a visitor finds themselves', async () => {
        const page = await open(browser);
        await go(page, '#/b/arena');
        await page.locator('.ranking [data-id]').first().waitFor();
        await page.keyboard.press('/');
        await page.keyboard.type('player-150');
        await page.keyboard.press('Enter');
        await page.locator('.focus .figure').first().waitFor();
        await page.getByRole('button', { name: 'This is me' }).click();
        await page.locator('.focus .you').waitFor();
        await page.locator('.focus').getByRole('link', { name: 'Around' }).click();
        await page.locator('.ranking .is-me').waitFor();
        same((await names(page)).length, 21, 'ten above, ten below');
        check(await page.locator('.ranking .is-me .you').isVisible(), 'marked');
        await accessible(page, 'around');
        await shoot(page, 'around');
        await page.locator('.focus').getByRole('link', { name: 'Friends' }).click();
        await page.getByText(/ of all$/).first().waitFor();
        same((await names(page)).length, 7, 'six friends and the player');
        await shoot(page, 'friends');
        await page.goto(base + '/#/b/arena');
        await page.locator('.focus .you').waitFor();
        await page.locator('[role=img][aria-label*="You are at"]').waitFor();
        await submit('arena', 'player-150', 2000000);
        await until(async () => (await page.locator('.focus .figure dd').first().innerText()).startsWith('1'), 'the new rank');
        await page.getByText('Nobody is above.').waitFor();
        await page.getByRole('textbox').or(page.getByRole('searchbox')).first().fill('nobody-at-all');
        await page.keyboard.press('Enter');
        await page.getByText('Not ranked here').waitFor();
        await page.context().close();
    });

    await story('a player’s page', async () => {
        const page = await open(browser);
        await go(page, '#/p/player-3');
        await page.getByRole('row', { name: /The arena/ }).waitFor();
        await page.getByRole('heading', { name: 'Rank over time' }).waitFor();
        await accessible(page, 'player');
        await page.locator('.card .status.live').waitFor();
        await submit('arena', 'player-3', 2500000);
        await page.locator('.news li').filter({ hasText: /Passed/ }).first().waitFor();
        await page.getByText('1 of 400').waitFor();
        await shoot(page, 'player');
        page.expected.push(/404/); // there is nobody: the server says so
        await page.goto(base + '/#/p/nobody-at-all');
        await page.getByText('Nobody by that id').waitFor();
        await accessible(page, 'nobody');
        await page.goto(base + '/#/b/no-such-board');
        await page.getByText('There is no board').waitFor();
        await page.goto(base + '/#/nowhere');
        await page.getByText('There is no such page').waitFor();
        await page.goto(base + '/#/b/quiet');
        await page.getByText('Nobody has a score yet').waitFor();
        await accessible(page, 'empty board');
        await page.context().close();
    });

    await story('less motion where the system asks for it', async () => {
        const page = await open(browser, { reducedMotion: 'reduce' });
        await go(page, '#/b/arena');
        await page.locator('.ranking [data-id]').nth(9).waitFor();
        const climber = (await names(page))[9];
        await submit('arena', climber, 3000000);
        await until(async () => (await names(page))[0] === climber, 'the climber on top');
        same(await page.evaluate(() => document.getAnimations().length), 0, 'no animations');
        await page.context().close();
    });

    await story('the widget on a page of its own', async () => {
        const page = await open(browser);
        await page.goto(base + '/example.html?board=arena');
        const frame = page.frameLocator('iframe');
        await frame.locator('.ranking [data-id]').nth(9).waitFor();
        await until(async () => {
            const outer = await page.locator('iframe').evaluate((element) => element.clientHeight);
            return Math.abs(outer - (await frame.locator('.frame').evaluate((element) => element.clientHeight))) < 8;
        }, 'the frame as high as what is in it');
        await settled(page);
        await accessible(page, 'example');
        await shoot(page, 'widget', true);
        const climber = await frame.locator('.ranking [data-id]').nth(4).getAttribute('data-id');
        await submit('arena', climber, 5000000);
        await until(async () => (await frame.locator('.ranking [data-id]').first().getAttribute('data-id')) === climber, 'the widget moves');
        await page.goto(base + '/widget.html?board=arena&limit=3&theme=light');
        await until(async () => (await page.locator('.ranking [data-id]').count()) === 3, 'three places');
        await accessible(page, 'widget');
        await page.context().close();
    });
}, async () => {
    await story('windows, scopes, teams, the past and rank styles are addresses', async () => {
        const page = await open(browser);
        await go(page, '#/b/arena');
        await page.locator('.ranking [data-id]').first().waitFor();
        const all = await page.locator('.count').innerText();
        await page.getByRole('link', { name: 'This week' }).click();
        await until(async () => page.url().includes('window=week') && (await page.locator('.skeleton').count()) === 0
            && (await page.locator('.count').allInnerTexts()).join() !== all, 'another window');
        await page.getByRole('link', { name: 'All time' }).click();
        await page.getByRole('link', { name: 'Finland' }).click();
        await until(async () => (await page.locator('.ranking .sub').allInnerTexts()).every((text) => text.includes('Finland')) && (await names(page)).length > 3, 'only Finland');
        check(page.url().includes('scope=country%3AFI'), 'the scope is in the address');
        const offered = await page.getByLabel('Another').locator('option').allInnerTexts();
        check(offered.some((text) => /^Finland \(\d+\)$/.test(text)) && offered.length === 7, `six countries and their sizes: ${offered}`);
        await page.getByLabel('Another').selectOption('country:SE');
        await until(async () => (await names(page)).length > 3 && (await page.locator('.ranking .sub').allInnerTexts()).every((text) => text.includes('Sweden')), 'only Sweden');
        await page.getByRole('link', { name: 'Everyone' }).click();
        await page.getByRole('link', { name: 'Guilds' }).click();
        await page.getByText(/members/).first().waitFor();
        await shoot(page, 'teams');
        await accessible(page, 'teams');
        await page.getByRole('link', { name: 'Past' }).click();
        await page.locator('.past .winners li').first().waitFor();
        await accessible(page, 'past');
        await shoot(page, 'past');
        await page.locator('.past a').first().click();
        await page.locator('.ranking [data-id]').first().waitFor();
        await page.reload();
        await page.locator('.ranking [data-id]').first().waitFor();
        await go(page, '#/b/arena');
        await page.getByLabel('Ties').selectOption('unique');
        await until(async () => page.url().includes('rank=unique'), 'the rank style in the address');
        await page.getByRole('link', { name: 'Next' }).click();
        await until(async () => (await first(page).locator('.rank-number').innerText()) === '51', 'the second page');
        await page.goBack();
        await until(async () => (await first(page).locator('.rank-number').innerText()) === '1', 'the first page again');
        await page.context().close();
    });

    await story('numbers of every kind', async () => {
        const page = await open(browser);
        await go(page, '#/b/trending?player=player-5'); // real numbers, and a percentile without an end
        await page.getByText('percentile 85.7').waitFor();
        await go(page, '#/b/huge?player=player-2');
        await page.locator('.focus .figure').first().waitFor();
        same((await page.locator('.ranking .score').allInnerTexts()).slice(1).map((text) => text.replace(/\s/g, '')), ['9223372036854775807', '9223372036854775806'], 'every digit');
        await page.getByText(/Next: .*, 1 ahead/).waitFor();
        await page.context().close();
    });

    await story('keyboard only', async () => {
        const page = await open(browser);
        await go(page, '#/b/harvest');
        await page.locator('.ranking [data-id]').first().waitFor();
        await page.keyboard.press('Tab');
        same(await page.evaluate(() => document.activeElement.textContent), 'To the content', 'the first stop');
        await page.keyboard.press('Enter');
        same(await page.evaluate(() => document.activeElement.id), 'main', 'skipped to the content');
        await page.locator('.ranking a.name').first().focus();
        await page.keyboard.press('ArrowDown');
        await page.keyboard.press('ArrowDown');
        const third = (await names(page))[2];
        same(await page.evaluate(() => document.activeElement.closest('[data-id]').dataset.id), third, 'two rows down');
        await page.keyboard.press('Enter');
        await page.locator('.focus').waitFor();
        check(page.url().includes(`player=${third}`), 'the player of that row');
        await page.context().close();
    });

    await story('on a phone', async () => {
        const page = await open(browser, { viewport: { width: 360, height: 780 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true });
        for (const [name, address] of [['boards', ''], ['board', '#/b/arena?player=player-20'], ['around', '#/b/arena?player=player-20&list=around'], ['past', '#/b/arena?list=past'],
            ['player', '#/p/player-20'], ['admin', '#/admin'], ['edit', '#/admin/edit/arena'], ['import', '#/admin/import'], ['health', '#/admin/health']]) {
            await go(page, address);
            await page.locator('.ranking [data-id], .board-card li .value, table, .editor, .chart, .command').locator('visible=true').first().waitFor();
            await settled(page);
            await fits(page, `phone, ${name}`);
            await shoot(page, `phone-${name}`);
        }
        await go(page, '#/b/arena?player=player-20');
        await page.locator('.ranking [data-id]').first().waitFor();
        await accessible(page, 'phone');
        await page.context().close();
    });

    await story('light and dark', async () => {
        const page = await open(browser, { colorScheme: 'dark' });
        const paper = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
        await go(page, '#/b/arena?player=player-20');
        await page.locator('.ranking [data-id]').first().waitFor();
        await page.locator('.chart canvas').first().waitFor();
        const dark = await paper();
        await accessible(page, 'board, dark');
        await shoot(page, 'board-dark');
        await page.getByLabel('Theme').selectOption('light');
        const light = await paper();
        check(light !== dark, 'light differs from dark');
        await page.reload();
        await page.locator('.ranking [data-id]').first().waitFor();
        same(await paper(), light, 'the choice is kept');
        await page.getByLabel('Theme').selectOption('system');
        same(await paper(), dark, 'back to the system’s');
        await page.context().close();
    });
});

await story('the server goes away and comes back', async () => {
    const page = await open(browser, { expected: [LOST] });
    await go(page, '#/b/arena');
    await page.locator('.status.live').first().waitFor();
    const before = await names(page);
    await ask('stop');
    await page.locator('.status.offline').waitFor();
    same(await names(page), before, 'the last ranking stays');
    await shoot(page, 'offline');
    await ask('start');
    await page.locator('.status.live').first().waitFor();
    same(await names(page), before, 'nothing was lost');
    await submit('arena', before[5], 6000000);
    await until(async () => (await names(page))[0] === before[5], 'moving again');
    await page.context().close();
});

await browser.close();
finish();
