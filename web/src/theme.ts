// SPDX-License-Identifier: Apache-2.0
// Runs before the first paint, so that a chosen theme does not flash.
try {
    const theme = localStorage.getItem('rung.theme');
    if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
    // storage is off: the system's theme it is
}
