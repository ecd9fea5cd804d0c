// SPDX-License-Identifier: Apache-2.0
// One line on any page:
//
//     <script async src="https://scores.example.com/widget.js" data-board="race"></script>
//
// puts a live leaderboard where the line stands. It is a frame of the server the script came from: the page's styles and the
// widget's do not meet, and no cross-origin rights are needed. data-board, data-window, data-scope, data-limit (10),
// data-player (marked as "you"), data-theme (light, dark), data-title, data-key (a read key).

const NAMES = ['board', 'window', 'scope', 'limit', 'player', 'theme', 'title', 'key'];

function place(script: HTMLScriptElement): void {
    const given = script.dataset;
    if (!given.board || given.rung === 'done') return;
    given.rung = 'done';
    const origin = new URL(script.src).origin;
    const options = new URLSearchParams();
    for (const name of NAMES) if (given[name]) options.set(name, given[name]!);
    const frame = document.createElement('iframe');
    // After the #: what is there never reaches a server's log, and the key may be there.
    frame.src = `${origin}/widget.html#${options}`;
    frame.title = given.title || `Leaderboard: ${given.board}`;
    frame.loading = 'lazy';
    frame.style.width = '100%';
    frame.style.border = '0';
    frame.style.display = 'block';
    frame.style.colorScheme = 'light'; // as inside the frame: where the two differ, browsers paint behind round corners
    frame.style.height = `${(Number(given.limit) || 10) * 48 + 100}px`;
    addEventListener('message', (event) => {
        const height = Number(event.data && event.data.rungHeight);
        if (event.source === frame.contentWindow && event.origin === origin && height > 0 && height < 20000) {
            frame.style.height = `${Math.ceil(height)}px`;
        }
    });
    script.after(frame);
}

const own = document.currentScript as HTMLScriptElement | null;
if (own && own.dataset.board) place(own);
else document.querySelectorAll<HTMLScriptElement>('script[src$="/widget.js"][data-board]').forEach(place);
