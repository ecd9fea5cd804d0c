// SPDX-License-Identifier: Apache-2.0
// Dry runs: what the rules in the form would have said to the last submissions, and what the board as it is saved would
// say to one.
import { useState } from 'preact/hooks';
import * as api from '../../lib/api';
import * as format from '../../lib/format';
import { bodyOf, trialOf, type Form } from '../../lib/definition';
import { useOffers } from '../../lib/hooks';
import { href } from '../../lib/route';
import { ACTION_DONE, evidence, ruleName } from '../../lib/trust';
import { Building, Card, Problem } from '../../ui/parts';
import { Parts } from '../rating';

const VERDICTS: Record<string, string> = { counts: 'It would count', flagged: 'It would count, and be flagged', tentative: 'It would be held for review', refused: 'It would be refused', duplicate: 'It is a repetition' };
const NUMBER = /^[-+]?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

export function TryRules({ form, wrong }: { form: Form; wrong: Record<string, string> }) {
    const [player, setPlayer] = useState('');
    const [score, setScore] = useState('');
    const [found, setFound] = useState<api.Checked | null>(null);
    const [error, setError] = useState<Error | null>(null);
    const [savedAs] = useState(() => bodyOf(form));
    const isChanged = Object.keys(wrong).length > 0 || bodyOf(form) !== savedAs;
    const valid = player.trim() !== '' && (form.update === 'count' || NUMBER.test(score.trim()));
    const run = async () => {
        setError(null);
        try {
            const value = form.update === 'count' ? '' : `,"score":${JSON.stringify(score.trim())}`;
            setFound(await api.check(form.id, `{"player":${JSON.stringify(player.trim())}${value}}`));
        } catch (problem) {
            setFound(null);
            setError(problem as Error);
        }
    };
    const onKey = (event: KeyboardEvent) => {
        if (event.key !== 'Enter') return;
        event.preventDefault(); // the form around is the board's
        if (valid) run();
    };
    const hasTrials = useOffers('/v1/boards/{board}/rules/check', 'post');
    return (
        <Card title="Try it">
            {hasTrials && <><Trial form={form} wrong={wrong} isChanged={isChanged} /><hr /></>}
            <h3>One submission</h3>
            <p class="quiet">What the board{isChanged ? ', as it was when this page was opened,' : ''} would say to a submission now. Nothing changes and nothing is logged.</p>
            <div class="inline-form">
                <label class="field"><span>Player</span><input value={player} onKeyDown={onKey} autocapitalize="none" spellcheck={false} onInput={(event) => setPlayer(event.currentTarget.value)} /></label>
                {form.update !== 'count' && <label class="field"><span>Score</span><input value={score} onKeyDown={onKey} inputMode="decimal" onInput={(event) => setScore(event.currentTarget.value)} /></label>}
                <button class="button" type="button" disabled={!valid} onClick={run}>Check</button>
            </div>
            <div aria-live="polite">
                {error && <Problem error={error} />}
                {found && (
                    <div class={'checked ' + found.verdict}>
                        <p><strong>{VERDICTS[found.verdict] || found.verdict}</strong>{found.rule && `: ${ruleName(found.rule)}`}{found.rank != null && <>, at rank {format.count(found.rank)}</>}.</p>
                        {found.broken.length > 0 && <ul class="broken">{found.broken.map((b, i) => (
                            <li key={i}><span><strong>{ruleName(b.rule)}</strong> <span class={'action ' + b.action}>{ACTION_DONE[b.action] || b.action}</span></span><span class="fact">{evidence(b)}</span></li>
                        ))}</ul>}
                    </div>
                )}
            </div>
        </Card>
    );
}

// ---- the last submissions ----

const LASTS = [1000, 10000, 100000];
const DONE: Record<string, string> = { counted: 'counts', flagged: 'flagged', tentative: 'held', refused: 'refused' };

function Trial({ form, wrong, isChanged }: { form: Form; wrong: Record<string, string>; isChanged: boolean }) {
    const [last, setLast] = useState(LASTS[1]);
    const [busy, setBusy] = useState(false);
    const [found, setFound] = useState<{ trial: api.Trial; of: string } | null>(null);
    const [error, setError] = useState<Error | null>(null);
    const text = trialOf(form, last);
    const isWrong = Object.keys(wrong).some((name) => /^(rules|limits|review)/.test(name));
    const run = async () => {
        setBusy(true);
        setError(null);
        try {
            setFound({ trial: await api.tryRules(form.id, text), of: text });
        } catch (problem) {
            setFound(null);
            setError(problem as Error);
        } finally {
            setBusy(false);
        }
    };
    return (
        <>
            <h3>The last submissions</h3>
            <p class="quiet">What the limits, rules and review above{isChanged ? ', as they are now in this form,' : ''} would have said to what was sent lately. Nothing changes.</p>
            <div class="trial-form">
                <label class="field"><span>How many</span>
                    <select value={String(last)} onChange={(event) => setLast(Number(event.currentTarget.value))}>{LASTS.map((n) => <option key={n} value={n}>{format.count(n)}</option>)}</select></label>
                <button class="button primary" type="button" disabled={busy || isWrong} onClick={run}>Dry run</button>
                {isWrong && <span class="field-error">Complete the rules first.</span>}
            </div>
            <div aria-live="polite">
                {busy ? <Building percent={null} what="Judging what was sent" /> : error ? <Problem error={error} retry={run} /> : found && <Judged trial={found.trial} board={form.id} isOld={found.of !== text} />}
            </div>
        </>
    );
}

function Judged({ trial, board, isOld }: { trial: api.Trial; board: string; isOld: boolean }) {
    const { judged, flagged, tentative, refused, counted, duplicates, other } = trial;
    const parts = [[flagged, 'flagged'], [tentative, 'held for review'], [refused, 'refused']].filter(([n]) => n).map(([n, what]) => `${what} ${format.count(n as number)}`);
    const most = Math.max(1, ...trial.rules.map((r) => r.broken), ...Object.values(trial.limits));
    return (
        <div class="trial">
            <p class="headline"><strong>{judged === 0 ? 'Nothing was sent yet.' : parts.length ? `Would have ${parts.join(', ')} of ${format.count(judged)}.` : `Would have let all ${format.count(judged)} pass.`}</strong>
                {' '}{isOld && <span class="badge">the form has changed since</span>}</p>
            {judged > 0 && <Parts label={`${counted} counted, ${flagged} flagged, ${tentative} held, ${refused} refused, ${duplicates + other} other`}
                   parts={[[refused, 'refuse'], [tentative, 'held'], [flagged, 'flag'], [counted + duplicates + other, 'fine']]} />}
            <p class="legend five"><span class="refuse">refused</span><span class="held">held</span><span class="flag">flagged</span><span class="quiet-line">untouched</span></p>
            {!trial.complete && trial.from && <p class="quiet hint">The kept log has no more: since {format.when(trial.from)}.</p>}
            {trial.rules.length + Object.keys(trial.limits).length > 0 && (
                <div class="scroll"><table class="table compact">
                    <thead><tr><th scope="col">Rule</th><th scope="col">Broken by</th><th scope="col" class="num"><span class="hidden">Count</span></th></tr></thead>
                    <tbody>
                        {Object.entries(trial.limits).map(([name, n]) => <Broken key={name} name={`${ruleName(name)} (limit)`} n={n} most={most} part="refuse" />)}
                        {trial.rules.map((r, i) => <Broken key={i} name={`${ruleName(r.rule)}${r.limit != null ? ` ${format.score(r.limit)}` : ''}`} n={r.broken} most={most} part={r.action === 'review' ? 'held' : r.action === 'flag' ? 'flag' : 'refuse'} />)}
                    </tbody>
                </table></div>
            )}
            {trial.examples.length > 0 && (
                <details open={trial.examples.length <= 6}>
                    <summary>The last {trial.examples.length} that broke something</summary>
                    <div class="scroll tall" tabIndex={0} role="region" aria-label="Examples"><table class="table compact">
                        <thead><tr><th scope="col">Player</th><th scope="col" class="num">Sent</th><th scope="col">When</th><th scope="col">Would be</th></tr></thead>
                        <tbody>{trial.examples.map((e) => (
                            <tr key={e.seq}>
                                <th scope="row"><a href={href(['admin', 'player', e.player], { board })}>{e.player}</a></th>
                                <td class="num">{e.delta != null ? '+' : ''}{format.score(e.score ?? e.delta)}</td>
                                <td title={format.when(e.at)}>{format.ago(e.at)}</td>
                                <td>{DONE[e.verdict] || e.verdict}<small>{e.broken.map((i) => ruleName(trial.rules[i]?.rule || '')).join(', ') || (e.rule && ruleName(e.rule))}</small></td>
                            </tr>
                        ))}</tbody>
                    </table></div>
                </details>
            )}
        </div>
    );
}

function Broken({ name, n, most, part }: { name: string; n: number; most: number; part: string }) {
    return <tr><th scope="row">{name}</th><td class="bar-cell"><Parts label={`${n}`} parts={[[n, part], [most - n, 'none']]} /></td><td class="num">{format.count(n)}</td></tr>;
}
