// SPDX-License-Identifier: Apache-2.0
// Puts the widget's line into the example page for the board of the address (?board=), or the first one there is.
(async function () {
    let board = new URLSearchParams(location.search).get('board');
    if (!board) {
        const answer = await fetch('/v1/boards').then((response) => (response.ok ? response.json() : {})).catch(() => ({}));
        const first = (answer.boards || [])[0];
        board = first ? first.id || first.board : '';
    }
    if (!board) {
        document.getElementById('board').textContent = 'This server has no boards yet.';
        return;
    }
    const script = document.createElement('script');
    script.async = true;
    script.src = location.origin + '/widget.js';
    script.dataset.board = board;
    script.dataset.theme = 'dark';
    document.getElementById('board').append(script);
    document.getElementById('line').textContent =
        '<script async src="' + location.origin + '/widget.js" data-board="' + board + '" data-theme="dark"></' + 'script>';
    document.getElementById('frame-line').textContent =
        '<iframe src="' + location.origin + '/widget.html?board=' + encodeURIComponent(board) + '&theme=dark" title="Leaderboard" width="100%" height="600"></iframe>';
})();
