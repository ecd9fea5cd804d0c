// SPDX-License-Identifier: Apache-2.0
// What a player sent, and what became of it, from the archive.
import * as api from '../../lib/api';
import type { Submission } from '../../lib/api';
import * as format from '../../lib/format';
import { useKey, useLoad } from '../../lib/hooks';
import { Card, Empty } from '../../ui/parts';
import { decimals } from '../../ui/ranking';
import type { Place } from '../player';

// "id_conflict" for people; what the outcome says already is not said twice.
const why = (s: Submission) => (s.reason && s.reason !== s.outcome ? s.reason.replace(/_/g, ' ') : null);
const sign = (s: Submission) => (s.delta && Number(s.score) >= 0 ? '+' : '');

export function Submissions({ player, places }: { player: string; places: Place[] }) {
    const list = useLoad((signal) => api.submissions(player, { limit: 100 }, signal), [player, useKey()], 5000);
    if (!list.data) return null; // kept while asking again fails now and then
    const boards = new Map(places.map((p) => [p.board.id, p.board]));
    return (
        <Card title="Submissions" flush>
            {list.data.length === 0 ? <Empty title="Nothing sent yet" /> : (
                <div class="scroll tall" tabIndex={0} role="region" aria-label="Submissions, newest first">
                    <table class="table">
                        <thead><tr><th scope="col">When</th><th scope="col">Board</th><th scope="col" class="num">Sent</th><th scope="col">Outcome</th></tr></thead>
                        <tbody>
                            {list.data.map((s) => (
                                <tr key={s.seq}>
                                    <td title={format.when(s.at)}>{format.ago(s.at)}</td>
                                    <td>{boards.get(s.board)?.title || s.board}</td>
                                    <td class="num">{sign(s)}{format.score(s.score, decimals(boards.get(s.board)))}</td>
                                    <td>{s.outcome}{why(s) && <small>{why(s)}</small>}</td>
                                </tr>
                            ))}
                        </tbody>
                    </table>
                </div>
            )}
        </Card>
    );
}
