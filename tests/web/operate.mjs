// SPDX-License-Identifier: Apache-2.0
// The operator's paths through the console, in a real browser against a real server. Run by tests/e2e/test_console_operate.py,
// which has the server and made the world this looks at.
import { accessible, ask, base, check, finish, fits, go, lanes, launch, names, open, same, settled, shoot, story, submit, until } from './browser.mjs';

const browser = await launch();
const json = async (path, options = {}) => (await fetch(base + path, { headers: { 'Content-Type': 'application/json' }, ...options })).json();

const offers = async (path, method = 'get') => Boolean((await json('/openapi.json')).paths[path]?.[method]);

await lanes(async () => {
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
        await page.getByLabel('How long').selectOption('for a day');
        await page.getByLabel(/Reason/).fill('speed hack');
        await page.getByRole('button', { name: /^Ban / }).click();
        await places.getByText('Hidden from every ranking', { exact: true }).waitFor();
        await page.locator('.badge.warn').filter({ hasText: /banned until/ }).waitFor();
        await page.getByLabel('A note').fill('will write to support');
        await page.getByRole('button', { name: 'Add note' }).click();
        await page.locator('.notes li').filter({ hasText: 'will write to support' }).filter({ hasNotText: 'just now' }).waitFor(); // from the archive
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
}, async () => {
    await story('a moderator judges what waits, with the keyboard', async () => {
        const page = await open(browser);
        await go(page, '#/admin/reviews');
        const waiting = page.getByRole('region', { name: 'Waiting' });
        const evidence = page.locator('.evidence');
        const here = () => waiting.locator('li.on strong').first().innerText();
        await until(async () => (await waiting.getByRole('listitem').count()) === 10, 'ten scores wait');
        await page.getByRole('link', { name: /^Reviews\s*10 waiting/ }).waitFor();
        await evidence.getByText(/12\s?500, limit 5000/).waitFor();
        await evidence.getByRole('img', { name: /deviations above the player’s mean/ }).waitFor();
        await evidence.getByRole('row', { name: /12\s?500.*tentative/ }).waitFor();
        await accessible(page, 'reviews');
        await shoot(page, 'reviews', true);
        same(await here(), 'player-5', 'the oldest first');
        await page.keyboard.press('j');
        await page.keyboard.press('j');
        same(await here(), 'player-7', 'two further');
        check(await waiting.locator('li.on button').evaluate((button) => button === document.activeElement), 'the focus goes along');
        await page.keyboard.press('k');
        same(await here(), 'player-6', 'one back');
        await page.keyboard.press('n');
        await page.keyboard.type('seen the recording');
        await page.keyboard.press('Enter');
        await page.keyboard.press('p');
        await page.getByRole('status').filter({ hasText: /Promoted player-6/ }).waitFor();
        same((await json('/v1/boards/quest/top?limit=1')).entries[0].player, 'player-6', 'it counts');
        await until(async () => (await here()) === 'player-7', 'the next one takes its place');
        await page.keyboard.press('r');
        await page.getByRole('status').filter({ hasText: /Rejected player-7/ }).waitFor();
        await page.keyboard.press('x');
        await page.keyboard.press('j');
        await page.keyboard.press('x');
        await page.getByText('2 selected').waitFor();
        await page.getByRole('heading', { name: '2 scores of 2 players' }).waitFor();
        await accessible(page, 'reviews, two selected');
        await shoot(page, 'reviews-many');
        await page.keyboard.press('r');
        await page.getByRole('status').filter({ hasText: 'Rejected 2 scores.' }).waitFor();
        await waiting.getByRole('button', { name: /newcomer/ }).click();
        await page.keyboard.press('b');
        await page.getByText('None of their tentative scores counts.').waitFor();
        await accessible(page, 'reviews, a ban');
        await shoot(page, 'reviews-ban');
        await page.getByRole('button', { name: 'Ban newcomer' }).click();
        await page.getByRole('status').filter({ hasText: 'Banned newcomer.' }).waitFor();
        same((await json('/v1/players/newcomer')).banned, true, 'banned');
        await page.keyboard.press('?');
        await page.getByText('ban the player').waitFor();
        await page.setViewportSize({ width: 360, height: 780 });
        await settled(page);
        await fits(page, 'phone, reviews');
        await shoot(page, 'phone-reviews', true);
        await page.setViewportSize({ width: 1280, height: 900 });
        await page.getByLabel('Rule').selectOption('first_max');
        await page.getByText('Nothing waits that fits').waitFor();
        await page.getByRole('link', { name: 'Show all that wait' }).click();
        await waiting.getByRole('listitem').first().waitFor();
        await page.keyboard.press('a');
        await page.getByText('5 selected').waitFor();
        await page.keyboard.press('p');
        await page.getByText('Nothing waits', { exact: true }).waitFor();
        same((await json('/v1/reviews')).total, 0, 'all are decided');
        await accessible(page, 'no reviews');
        await page.context().close();
    });

    await story('rules are written, tried and kept', async () => {
        const page = await open(browser);
        await go(page, '#/admin/edit/quest');
        same(await page.getByLabel('Limit of rule 1').inputValue(), '5000', 'the rule as it was set');
        await page.getByRole('button', { name: 'Add a rule' }).click();
        await page.getByRole('button', { name: 'Save changes' }).click();
        await page.getByText('A number.').first().waitFor();
        await page.getByLabel('Kind of rule 4').selectOption('max_rate');
        await page.getByLabel('Limit of rule 4').fill('100000000');
        await page.getByLabel('Seconds of rule 4').fill('3600');
        await page.getByLabel('Action of rule 4').selectOption('flag');
        await page.getByRole('button', { name: 'Move rule 4 up' }).click();
        const once = page.getByRole('region', { name: 'Try it' });
        await once.getByLabel('Player').fill('player-20');
        await once.getByLabel('Score').fill('77777');
        await once.getByRole('button', { name: 'Check' }).click();
        await once.getByText('It would be held for review').waitFor();
        await once.getByText(/77\s?777, limit 5000/).waitFor();
        if (await offers('/v1/boards/{board}/rules/check', 'post')) {
            await once.getByRole('button', { name: 'Dry run' }).click();
            await once.getByText(/Would have .* of \d/).waitFor();
        }
        await accessible(page, 'rules');
        await once.scrollIntoViewIfNeeded();
        await shoot(page, 'rules', true);
        await page.getByRole('button', { name: 'Save changes' }).click();
        await page.getByText('Saved').waitFor();
        const { rules } = await json('/v1/boards/quest');
        same(rules.map((rule) => rule.rule), ['max', 'z_player', 'max_rate', 'max_step'], 'in the order of the page');
        same(rules[2], { rule: 'max_rate', value: 100000000, per: 3600, action: 'flag' }, 'the new one');
        await page.setViewportSize({ width: 360, height: 780 });
        await settled(page);
        await fits(page, 'phone, rules');
        await page.context().close();
    });

    await story('a board computed without two players, put in place, and back', async () => {
        const page = await open(browser, { expected: [/404.*\/replay/] }); // there is none yet
        await go(page, '#/admin');
        await page.getByRole('link', { name: 'Replay Harvest' }).click();
        const preview = page.getByRole('button', { name: 'Preview' });
        await preview.waitFor();
        check(await preview.isDisabled(), 'nothing to preview yet');
        await accessible(page, 'replay');
        await page.getByRole('textbox', { name: /had never played/ }).fill('player-1, player-2');
        await shoot(page, 'replay-begin');
        await preview.click();
        await page.getByRole('heading', { name: 'Who would move' }).waitFor();
        const shown = page.getByRole('region', { name: 'Who would move' });
        same(await shown.locator('.figure', { hasText: 'Gone' }).locator('dd').innerText(), '2', 'two are gone');
        await accessible(page, 'replay, ready');
        await shoot(page, 'replay-ready', true);
        const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: /as CSV/ }).click()]);
        same(file.suggestedFilename(), 'replay-harvest-all.csv', 'a file');
        const status = async (player) => (await fetch(`${base}/v1/boards/harvest/players/${player}`)).status;
        same([await status('player-1'), await status('player-3')], [200, 200], 'nothing has changed yet');
        await page.getByLabel(/^Reason/).fill('they cheated');
        await page.getByRole('button', { name: 'Swap in' }).click();
        await page.getByRole('button', { name: 'Undo' }).waitFor();
        same([await status('player-1'), await status('player-3')], [404, 200], 'one is gone');
        await accessible(page, 'replay, swapped');
        await shoot(page, 'replay-swapped');
        await page.getByRole('button', { name: 'Undo' }).click();
        await page.getByRole('button', { name: 'Swap in' }).waitFor();
        same([await status('player-1'), await status('player-3')], [200, 200], 'and back');
        await page.getByRole('button', { name: 'Drop…' }).click();
        await page.getByRole('button', { name: 'Really drop it' }).click();
        await preview.waitFor();

        await page.getByText('The board had another definition').click();
        await page.getByLabel('Update', { exact: true }).selectOption('best');
        await preview.click();
        await page.getByRole('heading', { name: 'Who would move' }).waitFor();
        await page.getByText('update', { exact: true }).waitFor(); // what differs, before and after
        await page.setViewportSize({ width: 360, height: 780 });
        await settled(page);
        await fits(page, 'phone, replay');
        await shoot(page, 'phone-replay', true);
        await page.getByRole('button', { name: 'Drop…' }).click();
        await page.getByRole('button', { name: 'Really drop it' }).click();
        await preview.waitFor();
        await page.context().close();
    });

    await story('a board as it was', async () => {
        const page = await open(browser, { expected: [/503.*(as_of|movers)/] }); // while the past is being built
        await fetch(`${base}/v1/boards/tale`, { method: 'PUT', headers: { 'Content-Type': 'application/json' }, body: '{"title":"A tale"}' });
        await submit('tale', 'ada', 10);
        const { seq } = await submit('tale', 'bob', 20);
        await submit('tale', 'cyd', 30);
        await go(page, `#/b/tale?as_of=${seq}`);
        await until(async () => (await names(page)).join() === 'bob,ada', 'without what came later');
        const bar = page.getByRole('region', { name: 'As of a moment' });
        await bar.getByText('As it was').waitFor();
        await accessible(page, 'as of');
        await shoot(page, 'as-of');
        await bar.getByRole('link', { name: 'One event later' }).click();
        await until(async () => (await names(page)).length >= 2 && page.url().includes(`as_of=${seq + 1}`), 'a moment later');
        await bar.getByRole('link', { name: 'Back to now' }).click();
        await until(async () => (await names(page)).join() === 'cyd,bob,ada', 'now');
        await page.locator('.status.live').first().waitFor();
        page.expected.push(/404|422/); // before there was a board
        await page.getByRole('button', { name: 'As of…' }).click();
        await accessible(page, 'as of, choosing');
        await page.getByRole('button', { name: 'A week ago' }).click();
        await page.getByRole('alert').waitFor();
        await accessible(page, 'as of, too old');
        await shoot(page, 'as-of-too-old');
        await page.setViewportSize({ width: 360, height: 780 });
        await settled(page);
        await fits(page, 'phone, as of');
        await page.context().close();
    });

    await story('who rose and who fell', async () => {
        const page = await open(browser, { expected: [/503.*(as_of|movers)/] }); // while the past is being built
        await page.goto(`${process.env.RUNG_ORIGINS}/#/b/climb?list=movers&since=1m`);
        const rose = page.getByRole('region', { name: 'Rose most' });
        await rose.getByRole('listitem').first().waitFor();
        check((await page.getByRole('region', { name: 'Fell most' }).getByRole('listitem').count()) > 0, 'some fell');
        const tally = await page.locator('.tally dd').allInnerTexts();
        check(Number(tally[0]) > 5 && tally[3] === '0', `who rose and who is new: ${tally}`);
        await accessible(page, 'movers');
        await shoot(page, 'movers');
        await page.setViewportSize({ width: 360, height: 780 });
        await settled(page);
        await fits(page, 'phone, movers');
        await shoot(page, 'phone-movers');
        await page.context().close();
    });

    await story('boards that answer with their error', async () => {
        if ((await fetch(`${base}/v1/boards/plays`)).status === 404) return; // an older server
        const page = await open(browser);
        await go(page, '#/b/plays');
        await page.getByRole('img', { name: /^from \d+ to/ }).first().waitFor();
        await page.locator('.status.live').waitFor();
        await page.getByText(/Who is not held has \d+ at most/).waitFor();
        await accessible(page, 'counts');
        await shoot(page, 'sketch-counts');
        await submit('plays', 'song-of-the-day', 99999);
        await page.getByRole('row', { name: /song-of-the-day/ }).waitFor();
        await page.setViewportSize({ width: 360, height: 780 });
        await settled(page);
        await fits(page, 'phone, counts');
        await shoot(page, 'phone-sketch');
        await page.setViewportSize({ width: 1280, height: 900 });
        await go(page, '#/b/marks');
        await page.getByRole('textbox', { name: 'A score' }).fill('71000');
        await page.getByRole('button', { name: 'Show' }).click();
        await page.getByRole('img', { name: /^percentile from/ }).waitFor();
        await page.getByText(/\d to \d.* of 6000/).waitFor();
        await page.getByRole('img', { name: /^Histogram of 6000 scores/ }).waitFor();
        await accessible(page, 'percentiles');
        await shoot(page, 'sketch-percentiles');
        await go(page, '#/b/crowd');
        await page.getByText(/Give or take \d+/).waitFor();
        const players = Number((await page.locator('.huge-figure').innerText()).replace(/\D/g, ''));
        check(players > 1800 && players < 2600, `about 2200 visitors: ${players}`);
        await accessible(page, 'distinct');
        await go(page, '');
        await page.getByRole('heading', { name: 'Marks' }).waitFor();
        await page.getByText('6000 scores').waitFor();
        await go(page, '#/admin/new');
        await page.getByLabel('Board', { exact: true }).selectOption('sketch');
        await page.getByLabel('Id', { exact: true }).fill('drawn');
        await page.getByLabel('Memory').fill('128KiB');
        await page.getByRole('button', { name: 'Create board' }).click();
        await page.getByText('Nothing counted yet').waitFor();
        same((await json('/v1/boards/drawn')).sketch, 'counts', 'made with the form');
        await go(page, '#/admin/edit/drawn');
        await page.getByLabel('Title', { exact: true }).fill('A drawing');
        await page.getByRole('button', { name: 'Save changes' }).click();
        await page.getByText('Saved').waitFor();
        await page.context().close();
    });

    await story('a board of ratings', async () => {
        const page = await open(browser);
        await go(page, '#/b/duel?player=player-20');
        await page.getByRole('columnheader', { name: 'Won–drawn–lost' }).waitFor();
        await page.locator('.ranking .row .record').filter({ hasText: /\d+–\d+–\d+/ }).first().waitFor();
        check(/±/.test(await page.locator('.ranking [data-id] .score').first().innerText()), 'the deviation beside the rating');
        await page.getByRole('heading', { name: 'Good opponents of player-20' }).waitFor();
        await page.locator('.opponents li').nth(4).waitFor();
        await page.getByLabel(/^Side 2/).fill('player-2');
        await page.getByRole('button', { name: 'Predict' }).click();
        await page.getByRole('img', { name: /player-20 wins with/ }).waitFor();
        const [mine, theirs] = (await page.locator('.outcome li strong').allInnerTexts()).map((text) => parseInt(text, 10));
        check(mine > 60 && theirs < 40, `the better one wins more often: ${mine}, ${theirs}`);
        await accessible(page, 'ratings');
        await shoot(page, 'ratings', true);
        page.expected.push(/422|404|400/);
        await page.getByLabel(/^Side 2/).fill('player-20');
        await page.getByRole('button', { name: 'Predict' }).click();
        await page.getByRole('alert').waitFor();
        if (await offers('/v1/boards/{board}/players/{player}/matches')) {
            await page.getByRole('img', { name: /Rating over \d+ matches/ }).waitFor();
            await page.getByRole('link', { name: 'Matches', exact: true }).click();
            await page.locator('.match-feed > li').nth(10).waitFor();
            await accessible(page, 'matches');
            await shoot(page, 'matches');
            await go(page, '#/p/player-20?board=duel');
            await page.getByRole('region', { name: 'Matches, newest first' }).waitFor();
            await accessible(page, 'player of ratings');
            await shoot(page, 'player-ratings', true);
        }
        await go(page, '#/admin/edit/duel');
        await page.getByLabel('Deviation of a new player').fill('300');
        await page.getByRole('button', { name: 'Save changes' }).click();
        await page.getByText('Saved').waitFor();
        same((await json('/v1/boards/duel')).rating.deviation, 300, 'a parameter');
        await page.setViewportSize({ width: 360, height: 780 });
        await go(page, '#/b/duel?player=player-20');
        await page.locator('.ranking [data-id]').first().waitFor();
        await settled(page);
        await fits(page, 'phone, ratings');
        await shoot(page, 'phone-ratings');
        await page.context().close();
    });
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
