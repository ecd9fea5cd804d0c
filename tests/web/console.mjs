// SPDX-License-Identifier: Apache-2.0
// The visitor's and the operator's paths through the console, in a real browser against a real server.
// Run by tests/e2e/test_console.py, which has the server and made the world this looks at.
import { accessible, ask, base, check, finish, fits, launch, open, same, settled, shoot, story, until } from './browser.mjs';

const LOST = /Failed to load resource|ERR_CONNECTION|ERR_EMPTY|ERR_INCOMPLETE|net::ERR/;
const browser = await launch();

async function submit(board, player, score) {
    const answer = await fetch(`${base}/v1/boards/${board}/scores`, {
        method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ player, score }) });
    check(answer.ok, `a score of ${player}: ${answer.status}`);
}

const names = (page) => page.locator('.ranking [data-id]').evaluateAll((rows) => rows.map((row) => row.dataset.id));
const first = (page) => page.locator('.ranking [data-id]').first();
const go = async (page, address) => {
    await page.goto(base + '/' + address);
    await page.locator('h1').first().waitFor();
};

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

await story('keyboard only', async () => {
    const page = await open(browser);
    await go(page, '#/b/arena');
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
    await submit('arena', before[5], 4000000);
    await until(async () => (await names(page))[0] === before[5], 'moving again');
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

// ---- operators ----

await story('an operator makes a board, edits it and deletes it', async () => {
    const page = await open(browser);
    await go(page, '#/admin');
    await page.getByRole('row', { name: /The arena/ }).waitFor();
    await accessible(page, 'operate');
    await shoot(page, 'admin');
    await page.getByRole('link', { name: 'New board' }).click();
    await page.getByRole('button', { name: 'Create board' }).click();
    await page.getByText('A board needs an id.').first().waitFor();
    await accessible(page, 'new board');
    await page.getByLabel('Id', { exact: true }).fill('sprint');
    await page.getByLabel('Title', { exact: true }).fill('Fastest lap');
    await page.getByLabel('Type', { exact: true }).selectOption('decimal');
    await page.getByLabel('Decimals').selectOption('3');
    await page.getByLabel('Order', { exact: true }).selectOption('asc');
    await page.getByLabel('This week').check();
    await page.getByRole('button', { name: 'Add a season' }).click();
    await page.getByLabel('Name of season 1').fill('autumn');
    await page.getByLabel('Start of season 1').fill('2026-09-01T00:00');
    await page.getByLabel('End of season 1').fill('2036-12-01T00:00');
    await page.getByLabel('Time zone', { exact: true }).fill('Europe/Helsinki');
    await page.getByLabel('Scopes', { exact: true }).fill('country, platform');
    await page.getByLabel('Highest score').fill('600');
    await shoot(page, 'new-board', true);
    await page.getByRole('button', { name: 'Create board' }).click();
    await page.getByRole('heading', { name: 'Fastest lap' }).waitFor();
    await page.getByText('Nobody has a score yet').waitFor();
    await page.getByRole('link', { name: 'autumn' }).waitFor();

    await go(page, '#/admin/edit/sprint');
    check(await page.getByLabel('Type', { exact: true }).isDisabled(), 'the type is fixed');
    same(await page.getByLabel('Highest score').inputValue(), '600', 'the limit as it was set');
    await page.getByLabel('Title', { exact: true }).fill('Fastest lap of all');
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('Saved').waitFor();
    await accessible(page, 'edit board');
    await shoot(page, 'edit-board');
    page.expected.push(/422|400/);
    await page.getByLabel('Time zone', { exact: true }).fill('Mars/Olympus');
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByRole('alert').filter({ hasText: /zone/i }).waitFor();

    await page.getByLabel(/to delete the board/).fill('sprint');
    await page.getByRole('button', { name: 'Delete board' }).click();
    await page.getByRole('row', { name: /The arena/ }).waitFor();
    check((await page.getByRole('row', { name: /Fastest lap/ }).count()) === 0, 'the board is gone');
    await page.context().close();
});

await story('an operator bans and unbans, seeing first what it does', async () => {
    const page = await open(browser);
    await go(page, '#/admin');
    await page.getByLabel('Player id').fill('player-9');
    await page.getByLabel('Player id').press('Enter');
    await page.waitForURL(/#\/admin\/player\/player-9$/);
    const places = page.getByRole('region', { name: 'Places' }); // the page before has such rows, too
    await places.getByRole('rowheader', { name: /The arena/ }).waitFor();
    const sent = page.getByRole('region', { name: 'Submissions, newest first' });
    await sent.getByRole('row', { name: /Harvest.*accepted/ }).waitFor();
    check((await sent.getByRole('row', { name: /The arena/ }).count()) >= 3, 'three scores in the arena and more');
    await accessible(page, 'submissions');
    await sent.scrollIntoViewIfNeeded();
    await shoot(page, 'submissions');
    await page.getByRole('button', { name: 'Ban…', exact: true }).click();
    await page.getByText(/becomes free/).first().waitFor();
    await accessible(page, 'ban');
    await shoot(page, 'ban');
    await page.getByLabel(/Reason/).fill('speed hack');
    await page.getByRole('button', { name: /^Ban / }).click();
    await places.getByText('Hidden from every ranking', { exact: true }).waitFor();
    await page.locator('.badge.warn').waitFor();
    await page.getByRole('button', { name: 'Unban…' }).waitFor();
    await accessible(page, 'banned');
    const answer = await fetch(`${base}/v1/boards/arena/scores`, {
        method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ player: 'player-9', score: 9999 }) });
    same(answer.status, 422, 'a score of a banned player');
    await sent.getByRole('row', { name: /9,?999.*refused/ }).waitFor();
    await page.getByRole('button', { name: 'Unban…' }).click();
    await page.getByRole('button', { name: /^Unban / }).click();
    await places.getByRole('rowheader', { name: /The arena/ }).waitFor();
    await page.getByRole('button', { name: 'Ban…', exact: true }).waitFor();
    await page.context().close();
});

await story('an operator imports a file', async () => {
    const page = await open(browser);
    await go(page, '#/admin/import');
    const rows = Array.from({ length: 5000 }, (_, i) => `import-${i % 300},${i}`).concat(['import-x,not-a-number']);
    await page.getByLabel(/^File/).setInputFiles({ name: 'scores.csv', mimeType: 'text/csv', buffer: Buffer.from('player,score\n' + rows.join('\n') + '\n') });
    await page.getByLabel(/^Board/).fill('quiet');
    await page.getByRole('button', { name: 'Import', exact: true }).click();
    await page.getByRole('cell', { name: /score/ }).waitFor();
    await until(async () => (await page.locator('.figure dd').first().innerText()).replace(/\D/g, '') === '5000', 'five thousand accepted');
    same(await page.locator('tbody td').first().innerText(), '5002'.replace(/\B(?=(\d{3})+$)/g, ''), 'the line that was refused');
    await accessible(page, 'import');
    await shoot(page, 'import');
    await page.context().close();
});

await story('an operator looks at health', async () => {
    const page = await open(browser);
    await go(page, '#/admin/health');
    const noise = setInterval(() => submit('arena', 'player-40', Math.round(Math.random() * 1000)).catch(() => undefined), 100);
    await page.locator('.chart canvas').nth(1).waitFor();
    await until(async () => (await page.locator('.chart canvas').count()) >= 3, 'charts');
    await page.waitForTimeout(4000); // a few more readings, for the picture
    await accessible(page, 'health');
    await shoot(page, 'health', true);
    clearInterval(noise);
    await page.context().close();
});

await story('who changed what, filtered and as a file', async () => {
    const page = await open(browser);
    await fetch(`${base}/v1/players/audited/ban`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"reason":"speed hack"}' });
    await fetch(`${base}/v1/players/audited/ban`, { method: 'DELETE' });
    await go(page, '#/admin/audit');
    await page.getByRole('row', { name: /board defined/ }).first().waitFor();
    await accessible(page, 'audit');
    await shoot(page, 'audit');
    await page.getByLabel('Kind').selectOption('banned');
    await page.getByRole('textbox', { name: 'Player' }).fill('audited');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.waitForURL(/kind=banned/);
    await page.getByRole('cell', { name: 'speed hack' }).waitFor();
    check(await page.getByRole('row').count() === 2, 'the head and the ban');
    const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'CSV' }).click()]);
    check(file.suggestedFilename() === 'audit.csv', 'a file');
    await page.getByText('1 records.').waitFor();
    await page.context().close();
});

await story('an operator makes the first key, another one, and revokes it', async () => {
    const page = await open(browser, { expected: [/401/] });
    await go(page, '#/admin/keys');
    await page.getByText('No keys yet').waitFor();
    await accessible(page, 'no keys');
    await shoot(page, 'keys-none');
    check(await page.getByRole('radio', { name: /^admin/ }).isChecked(), 'the first is an admin’s');
    await page.getByLabel(/^Label/).fill('the console');
    await page.getByRole('button', { name: 'Make key' }).click();
    await page.getByText('shown this once').waitFor();
    const admin = await page.locator('.made code').first().innerText();
    check(/^rung_admin_/.test(admin), 'an admin’s key');
    await page.getByRole('button', { name: 'I have kept it' }).click();
    await page.getByRole('row', { name: /the console/ }).waitFor(); // the tab goes on with it

    await page.getByRole('radio', { name: /^read/ }).check();
    await page.getByLabel(/^Label/).fill('fan site');
    await page.getByLabel(/^Boards/).fill('harvest, qu*');
    await page.getByRole('combobox', { name: /^Ends/ }).selectOption('90');
    await page.getByRole('button', { name: 'Make key' }).click();
    const code = page.locator('.made code').first();
    await code.waitFor();
    const key = await code.innerText();
    const ask = async (board) => (await fetch(`${base}/v1/boards/${board}/top`, { headers: { Authorization: `Bearer ${key}` } })).status;
    same([await ask('harvest'), await ask('huge'), await ask('arena')], [200, 403, 200], 'for its boards, and the public one');
    const row = page.getByRole('row', { name: /fan site/ });
    await row.waitFor();
    await accessible(page, 'keys');
    await shoot(page, 'keys');
    await row.getByRole('button', { name: 'Revoke…' }).click();
    await accessible(page, 'revoke');
    await row.getByRole('button', { name: 'Revoke fan site' }).click();
    await page.getByText('1 no longer in force').waitFor();
    same(await ask('harvest'), 401, 'refused at once');
    same(await page.locator('.made').count(), 0, 'not shown any longer');
    await page.locator('.ended summary').click();
    await page.getByRole('row', { name: /fan site.*revoked/ }).waitFor();
    await page.setViewportSize({ width: 360, height: 780 });
    await settled(page);
    await fits(page, 'phone, keys');
    await shoot(page, 'phone-keys', true);
    await page.context().close();
});

await story('boards for everybody on a server with keys', async () => {
    const page = await open(browser, { expected: [/401/] });
    await go(page, '');
    await page.getByRole('heading', { name: 'The arena' }).waitFor();
    same(await page.locator('.board-card').count(), 1, 'only what is public');
    await page.getByRole('link', { name: 'The arena' }).click();
    await page.locator('.status.live').first().waitFor();
    await page.locator('.ranking a.name').first().click();
    await page.locator('.focus .figure').first().waitFor();
    await page.locator('.focus h2 a').click();
    await page.getByRole('rowheader', { name: /The arena/ }).waitFor();
    await page.goto(base + '/widget.html?board=arena&limit=3');
    await until(async () => (await page.locator('.ranking [data-id]').count()) === 3, 'the widget without a key');
    await page.goto(base + '/#/b/harvest');
    await page.getByText('A key is needed').first().waitFor();
    await page.context().close();
});

await story('on a server with keys a key is asked for, and kept in the tab only', async () => {
    const key = (await ask('keyed')).key;
    const page = await open(browser, { expected: [/401|403/] });
    await go(page, '#/admin');
    await page.getByText('A key is needed').waitFor();
    await accessible(page, 'key');
    await shoot(page, 'key');
    await page.getByLabel('Key').last().fill('rung_admin_wrong');
    await page.getByRole('button', { name: 'Use this key' }).last().click();
    await page.getByText('This key may not do that').waitFor();
    await page.getByLabel('Key').last().fill(key);
    await page.getByRole('button', { name: 'Use this key' }).last().click();
    await page.getByRole('row', { name: /The arena/ }).waitFor();
    await page.goto(base + '/#/b/harvest');
    await page.locator('.ranking [data-id]').first().waitFor();
    await page.locator('.status.live').first().waitFor();
    check(!page.url().includes('rung_'), 'the key is in no address');
    same(await page.evaluate(() => JSON.stringify(localStorage).includes('rung_admin')), false, 'not in localStorage');
    const other = await page.context().newPage();
    other.on('console', () => undefined);
    await other.goto(base + '/#/b/harvest');
    await other.getByText('A key is needed').first().waitFor();
    await other.close();
    await page.getByRole('button', { name: 'Forget key' }).click();
    await page.getByText('A key is needed').first().waitFor();
    await page.context().close();
});

await browser.close();
finish();
