// SPDX-License-Identifier: Apache-2.0
// Plausibility rules, in the order in which they are judged.
import type { Form } from '../../lib/definition';
import { ACTION_NAMES, ACTIONS, RULES, type RuleForm } from '../../lib/trust';

const RULES_MAX = 16;

// What a board can have: one that counts has no scores to compare.
function offered(form: Form): string[] {
    return Object.keys(RULES).filter((rule) => (form.update !== 'count' || rule === 'submissions' || rule.startsWith('attested_'))
        && !(rule === 'max_rate' && form.order === 'asc'));
}

export function RuleEditor({ form, set, wrong }: { form: Form; set: (change: Partial<Form>) => void; wrong: Record<string, string> }) {
    const { rules } = form;
    const change = (i: number, change: Partial<RuleForm>) => set({ rules: rules.map((rule, j) => (i === j ? { ...rule, ...change } : rule)) });
    const move = (i: number, by: number) => {
        const next = rules.slice();
        [next[i], next[i + by]] = [next[i + by], next[i]];
        set({ rules: next });
    };
    const kinds = offered(form);
    const add = () => set({ rules: [...rules, { rule: kinds.find((kind) => !rules.some((rule) => rule.rule === kind)) || kinds[0], value: '', per: '60', action: 'review' }] });
    return (
        <fieldset class="rules">
            <legend>Rules, judged in this order when a submission arrives</legend>
            {rules.length === 0 && <p class="quiet">None. A rule refuses a score that cannot be, flags it, or holds it back for a moderator.</p>}
            <ol>
                {rules.map((rule, i) => {
                    const kind = RULES[rule.rule];
                    const error = wrong[`rules.${i}`];
                    const n = `of rule ${i + 1}`;
                    return (
                        <li key={i}>
                            <div class="rule-row">
                                <select aria-label={`Kind ${n}`} value={rule.rule} onChange={(event) => change(i, { rule: event.currentTarget.value })}>
                                    {!kinds.includes(rule.rule) && <option value={rule.rule}>{kind?.name || rule.rule}</option>}
                                    {kinds.map((id) => <option key={id} value={id}>{RULES[id].name}</option>)}
                                </select>
                                {kind?.measure ? <input aria-label={`Limit ${n}`} inputMode="decimal" placeholder={kind.measure === 'deviations' ? '6' : kind.measure === 'count' ? 'how many' : 'score'}
                                    value={rule.value} aria-invalid={Boolean(error)} onInput={(event) => change(i, { value: event.currentTarget.value })} /> : <span class="no-value" />}
                                {kind?.hasPer ? <label class="per"><span>in</span><input aria-label={`Seconds ${n}`} inputMode="numeric" value={rule.per} onInput={(event) => change(i, { per: event.currentTarget.value })} /><span>s</span></label> : <span class="no-value" />}
                                <select aria-label={`Action ${n}`} value={rule.action} onChange={(event) => change(i, { action: event.currentTarget.value })}>
                                    {ACTIONS.map((action) => <option key={action} value={action}>{ACTION_NAMES[action]}</option>)}
                                </select>
                                <span class="rule-buttons">
                                    <button class="button small" type="button" aria-label={`Move rule ${i + 1} up`} disabled={i === 0} onClick={() => move(i, -1)}>↑</button>
                                    <button class="button small" type="button" aria-label={`Move rule ${i + 1} down`} disabled={i === rules.length - 1} onClick={() => move(i, 1)}>↓</button>
                                    <button class="button small" type="button" aria-label={`Remove rule ${i + 1}`} onClick={() => set({ rules: rules.filter((_, j) => j !== i) })}>Remove</button>
                                </span>
                            </div>
                            {error ? <span class="field-error">{error}</span> : kind && <p class="help">{kind.help}</p>}
                        </li>
                    );
                })}
            </ol>
            {rules.length < RULES_MAX && <button class="button small" type="button" onClick={add}>Add a rule</button>}
        </fieldset>
    );
}
