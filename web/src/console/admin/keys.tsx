// SPDX-License-Identifier: Apache-2.0
// Keys are made where the server runs: a key that could make keys over the network would be worth stealing.
import { useTitle } from '../../lib/hooks';
import { Card, Command } from '../../ui/parts';

export function Keys() {
    useTitle('Keys');
    return (
        <>
            <header class="page-head"><h1>Keys</h1></header>
            <div class="columns even">
                <Card title="Making and revoking">
                    <p>Keys are managed on the machine that runs the server, never over the network. A key is shown once and stored as a hash.</p>
                    <h3>Create</h3>
                    <Command>rung keys create --data DIR --role server --boards 'race-*'</Command>
                    <h3>List</h3>
                    <Command>rung keys list --data DIR</Command>
                    <h3>Revoke, at once</h3>
                    <Command>rung keys revoke ID --data DIR</Command>
                </Card>
                <Card title="Roles">
                    <dl class="roles">
                        <dt>read</dt><dd>Asks: tops, ranks, live updates. Safe in a web page or widget.</dd>
                        <dt>server</dt><dd>Also sends scores, profiles and friendships. For the game’s own servers.</dd>
                        <dt>admin</dt><dd>Also defines boards, bans players and sees this part of the console.</dd>
                    </dl>
                    <p class="quiet">A pattern after <code>--boards</code> limits a key to matching boards, <code>--expires-in 90d</code> ends it by itself. Players themselves use signed tokens, which read and nothing else.</p>
                </Card>
            </div>
        </>
    );
}
