// SPDX-License-Identifier: Apache-2.0
// Create or change a board, every field explained where it is set.
import { cloneElement, type ComponentChildren, type VNode } from 'preact';
import { useEffect, useId, useState } from 'preact/hooks';
import * as api from '../../lib/api';
import { bodyOf, emptyForm, formOf, isRating, isReviewed, KINDS, LIMITS, mistakes, type Form } from '../../lib/definition';
import { PARAMETERS } from '../../lib/trust';
import { useDescribes, useKey, useLoad, useTitle } from '../../lib/hooks';
import { href } from '../../lib/route';
import { windowName } from '../../lib/format';
import { Card, Copy, Problem } from '../../ui/parts';
import { RuleEditor } from './rule_editor';
import { TryRules } from './try_rules';

const FIXED = 'Fixed once the board exists: the scores it has would mean something else. Delete the board and send the scores again to change it.';

export function BoardEditor({ id }: { id?: string }) {
    useTitle(id ? `Edit ${id}` : 'New board');
    const board = useLoad(id ? (signal) => api.board(id, signal) : null, [id, useKey()]);
    if (id && board.error) return <Card><Problem error={board.error} retry={board.reload} what={`There is no board “${id}”`} /></Card>;
    if (id && !board.data) return <Card><p class="note" aria-busy="true"><span class="skeleton bar-l" /></p></Card>;
    return <Editor initial={board.data ? formOf(board.data) : emptyForm()} exists={Boolean(id)} />;
}

function Editor({ initial, exists }: { initial: Form; exists: boolean }) {
    const [form, setForm] = useState(initial);
    const [error, setError] = useState<Error | null>(null);
    const [tried, setTried] = useState(false);
    const [busy, setBusy] = useState(false);
    const [saved, setSaved] = useState(false);
    const set = (change: Partial<Form>) => {
        setForm((old) => ({ ...old, ...change }));
        setSaved(false);
    };
    const wrong = mistakes(form);
    const shown = tried ? wrong : {};
    useEffect(() => {
        if (tried && Object.keys(wrong).length) document.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
    }, [tried]);
    const save = async () => {
        setTried(true);
        if (Object.keys(wrong).length) return;
        setBusy(true);
        setError(null);
        try {
            await api.request('PUT', api.address(['boards', form.id.trim()]), { text: bodyOf(form) });
            if (exists) setSaved(true);
            else location.hash = href(['b', form.id.trim()]);
        } catch (problem) {
            setError(problem as Error);
        } finally {
            setBusy(false);
        }
    };
    return (
        <>
            <header class="page-head"><h1>{exists ? `Edit ${initial.title || initial.id}` : 'New board'}</h1>{exists && <><span class="spring" /><a class="button" href={href(['b', initial.id])}>Open</a></>}</header>
            <form class="editor" onSubmit={(event) => {
                event.preventDefault();
                save();
            }} noValidate>
                <Names form={form} set={set} exists={exists} wrong={shown} />
                {!exists && <Kind form={form} set={set} />}
                <Definition form={form} set={set} exists={exists} wrong={shown} />
                {exists && !isRating(form.update) && form.kind !== 'sketch' && <TryRules form={form} wrong={wrong} />}
                {error && <Card><Problem error={error} /></Card>}
                <div class="save-bar">
                    <button class="button primary" type="submit" disabled={busy}>{exists ? 'Save changes' : 'Create board'}</button>
                    <a class="button" href="#/admin">Cancel</a>
                    {tried && Object.keys(wrong).length > 0 && <span class="field-error" role="alert">{Object.values(wrong)[0]}</span>}
                    {saved && <span class="status live" role="status">Saved</span>}
                    <span class="spring" />
                    <details class="as-json"><summary>As JSON</summary><div class="command tall"><code tabIndex={0}>{pretty(form)}</code><Copy text={pretty(form)} /></div></details>
                </div>
            </form>
            {exists && <Delete id={initial.id} />}
        </>
    );
}

// All of it but the name.
export function Definition(part: Part) {
    const { form, set, exists, wrong } = part;
    if (form.kind === 'sketch') {
        return (
            <>
                <Sketch form={form} set={set} exists={exists} wrong={wrong} />
                <Windows form={form} set={set} wrong={wrong} />
                <Groups form={form} set={set} noTeams />
            </>
        );
    }
    return (
        <>
            <Scores form={form} set={set} exists={exists} wrong={wrong} />
            {isRating(form.update) && <Rating form={form} set={set} wrong={wrong} />}
            <Windows form={form} set={set} wrong={wrong} />
            <Groups form={form} set={set} />
            {!isRating(form.update) && <Limits form={form} set={set} wrong={wrong} />}
            {!isRating(form.update) && <Rules form={form} set={set} wrong={wrong} />}
        </>
    );
}

function pretty(form: Form): string {
    return bodyOf(form).replace(/,"/g, ',\n"').replace(/^\{/, '{\n').replace(/\}$/, '\n}');
}

interface Part {
    form: Form;
    set: (change: Partial<Form>) => void;
    wrong?: Record<string, string>;
    exists?: boolean;
}

// One input with its label, what it means, and what is wrong with it; the latter two described to screen readers.
function Field({ label, help, error, extra, children }: {
    label: string; help: string; error?: string; extra?: ComponentChildren; children: VNode<any> }) {
    const id = useId();
    return (
        <div class="explained">
            <div class="field">
                <label for={id}>{label}</label>
                {cloneElement(children, { id, 'aria-describedby': error ? `${id}-error ${id}-help` : `${id}-help` })}
                {extra}
                {error && <span class="field-error" id={`${id}-error`}>{error}</span>}
            </div>
            <p class="help" id={`${id}-help`}>{help}</p>
        </div>
    );
}

function Select({ value, options, onChange, ...more }: {
    value: string; options: [string, string][]; onChange: (value: string) => void; disabled?: boolean; id?: string; 'aria-describedby'?: string }) {
    return (
        <select value={value} {...more} onChange={(event) => onChange(event.currentTarget.value)}>
            {options.map(([id, name]) => <option key={id} value={id}>{name}</option>)}
        </select>
    );
}

function Names({ form, set, exists, wrong }: Part) {
    return (
        <Card title="Name">
            <Field label="Id" error={wrong!.id} help={exists ? 'The id is the board’s address and cannot change.' : 'How programs name the board, in paths and submissions: 1 to 128 bytes. Short and plain is best, like “race” or “weekly-xp”.'}>
                <input value={form.id} disabled={exists} aria-invalid={Boolean(wrong!.id)} autocapitalize="none" spellcheck={false} onInput={(event) => set({ id: event.currentTarget.value })} />
            </Field>
            <Field label="Title" help="What people read above the ranking. Left empty, it is the id.">
                <input value={form.title} onInput={(event) => set({ title: event.currentTarget.value })} />
            </Field>
        </Card>
    );
}

const TYPES: [string, string][] = [['integer', 'Integer'], ['decimal', 'Decimal'], ['real', 'Real']];
const ORDERS: [string, string][] = [['desc', 'Highest first'], ['asc', 'Lowest first']];

function Scores({ form, set, exists, wrong }: Part) {
    const column = (i: number, change: object) => set({ columns: form.columns.map((c, j) => (i === j ? { ...c, ...change } : c)) });
    return (
        <Card title="Scores">
            {exists && <p class="note-box">{FIXED}</p>}
            <Field label="Type" help="Integers are exact to 64 bits. Decimals are exact with a fixed number of places: money, lap times. Reals are double-precision numbers: use them only when the scores already are.">
                <Select value={form.type} options={TYPES} disabled={exists} onChange={(type) => set({ type })} />
            </Field>
            {form.type === 'decimal' && (
                <Field label="Decimals" help="Places after the point, 0 to 9. A submission with more is refused rather than rounded.">
                    <Select value={form.decimals} options={Array.from({ length: 10 }, (_, i) => [String(i), String(i)])} disabled={exists} onChange={(decimals) => set({ decimals })} />
                </Field>
            )}
            <Field label="Order" help="Highest first for points, lowest first for times and strokes.">
                <Select value={form.order} options={ORDERS} disabled={exists} onChange={(order) => set({ order })} />
            </Field>
            <Field label="Update" help="What a new submission does to the score a player already has: keep the better one, take the latest, add up, count submissions, or add up while old ones fade. A rating board takes results of matches instead.">
                <Select value={form.update} disabled={exists} onChange={(update) => set({ update })}
                        options={[['best', 'Best'], ['last', 'Last'], ['sum', 'Sum'], ['count', 'Count'], ['decay', 'Decay'], ['elo', 'Elo rating'], ['glicko2', 'Glicko-2 rating'], ['openskill', 'Weng-Lin rating (teams)']]} />
            </Field>
            {form.update === 'decay' && (
                <Field label="Half-life" error={wrong!.half_life} help="Seconds until a submission is worth half. 86400 is a day, 604800 a week.">
                    <input inputMode="numeric" value={form.half_life} disabled={exists} aria-invalid={Boolean(wrong!.half_life)} onInput={(event) => set({ half_life: event.currentTarget.value })} />
                </Field>
            )}
            <Field label="Ties" help="Who stands above among equal scores: who reached it first, who reached it last, or the smaller id.">
                <Select value={form.tie} disabled={exists} onChange={(tie) => set({ tie })} options={[['first', 'First to reach it'], ['last', 'Last to reach it'], ['player', 'Player id'], ['player_desc', 'Player id, larger first']]} />
            </Field>
            <Field label="Rank style" help="How equal scores are numbered unless a question asks otherwise: 1 1 3 (sparse), 1 1 2 (dense), 1 2 3 (unique).">
                <Select value={form.rank} onChange={(rank) => set({ rank })} options={[['sparse', 'Sparse'], ['dense', 'Dense'], ['unique', 'Unique']]} />
            </Field>
            <fieldset class="explained" disabled={exists}>
                <legend class="field"><span>More columns</span></legend>
                <div>
                    {form.columns.map((c, i) => (
                        <div class="inline-row" key={i}>
                            <input aria-label={`Name of column ${i + 2}`} placeholder="name" value={c.name} onInput={(event) => column(i, { name: event.currentTarget.value })} />
                            <select aria-label={`Type of column ${i + 2}`} value={c.type} onChange={(event) => column(i, { type: event.currentTarget.value })}>{TYPES.map(([t, n]) => <option key={t} value={t}>{n}</option>)}</select>
                            <select aria-label={`Order of column ${i + 2}`} value={c.order} onChange={(event) => column(i, { order: event.currentTarget.value })}>{ORDERS.map(([t, n]) => <option key={t} value={t}>{n}</option>)}</select>
                            {!exists && <button class="button small" type="button" onClick={() => set({ columns: form.columns.filter((_, j) => j !== i) })}>Remove</button>}
                        </div>
                    ))}
                    {!exists && form.columns.length < 2 && <button class="button small" type="button" onClick={() => set({ columns: [...form.columns, { name: '', type: 'integer', order: 'desc', decimals: '2' }] })}>Add a column</button>}
                    {exists && form.columns.length === 0 && <span class="quiet">None</span>}
                    {wrong!.columns && <span class="field-error">{wrong!.columns}</span>}
                </div>
                <p class="help">Up to two more values that decide among equal scores, such as fewer deaths or a faster time. All are submitted together and compared as one.</p>
            </fieldset>
        </Card>
    );
}

function Windows({ form, set, wrong }: Part) {
    const season = (i: number, change: object) => set({ seasons: form.seasons.map((s, j) => (i === j ? { ...s, ...change } : s)) });
    return (
        <Card title="Windows">
            <fieldset class="explained">
                <legend class="field"><span>Rankings kept</span></legend>
                <div class="checks">
                    {KINDS.map((kind) => (
                        <label key={kind}><input type="checkbox" checked={form.windows.includes(kind)} aria-invalid={Boolean(wrong!.windows)}
                            onChange={(event) => set({ windows: event.currentTarget.checked ? [...form.windows, kind] : form.windows.filter((k) => k !== kind) })} />{windowName(kind)}</label>
                    ))}
                    {wrong!.windows && <span class="field-error">{wrong!.windows}</span>}
                </div>
                <p class="help">One submission feeds all of them. A window that ends is closed, archived, and can be asked for ever after. Weeks are ISO weeks. Taking a window away drops its data.</p>
            </fieldset>
            <fieldset class="explained">
                <legend class="field"><span>Seasons</span></legend>
                <div>
                    {form.seasons.map((s, i) => (
                        <div class="inline-row" key={i}>
                            <input aria-label={`Name of season ${i + 1}`} placeholder="name" value={s.name} onInput={(event) => season(i, { name: event.currentTarget.value })} />
                            <input aria-label={`Start of season ${i + 1}`} type="datetime-local" value={local(s.starts)} onInput={(event) => season(i, { starts: utc(event.currentTarget.value) })} />
                            <input aria-label={`End of season ${i + 1}`} type="datetime-local" value={local(s.ends)} onInput={(event) => season(i, { ends: utc(event.currentTarget.value) })} />
                            <button class="button small" type="button" onClick={() => set({ seasons: form.seasons.filter((_, j) => j !== i) })}>Remove</button>
                        </div>
                    ))}
                    <button class="button small" type="button" onClick={() => set({ seasons: [...form.seasons, { name: '', starts: '', ends: '' }] })}>Add a season</button>
                    {wrong!.seasons && <span class="field-error">{wrong!.seasons}</span>}
                </div>
                <p class="help">Windows with a name and dates of their own, in UTC. They may overlap each other and everything else.</p>
            </fieldset>
            <Field label="Time zone" help="Where days, weeks and months begin: an IANA name such as Europe/Helsinki. A change holds from the next window on.">
                <input value={form.timezone} autocapitalize="none" spellcheck={false} list="zones" onInput={(event) => set({ timezone: event.currentTarget.value })} />
            </Field>
            <datalist id="zones">{zones().map((zone) => <option key={zone} value={zone} />)}</datalist>
            <Field label="Day starts at" help="For games whose day turns over at another hour than midnight, such as 04:00.">
                <input type="time" value={form.day_starts} onInput={(event) => set({ day_starts: event.currentTarget.value })} />
            </Field>
            <Field label="Grace" error={wrong!.grace} help="Seconds after a window’s end in which a late submission, by its own time, still counts.">
                <input inputMode="numeric" value={form.grace} aria-invalid={Boolean(wrong!.grace)} onInput={(event) => set({ grace: event.currentTarget.value })} />
            </Field>
            <Field label="Keep" error={wrong!.keep} help="Closed windows of each kind that stay in memory, or numbers by kind: hour=48, day=30. Older ones are answered from the archive.">
                <input value={form.keep} aria-invalid={Boolean(wrong!.keep)} onInput={(event) => set({ keep: event.currentTarget.value })} />
            </Field>
        </Card>
    );
}

function zones(): string[] {
    const list = (Intl as any).supportedValuesOf;
    return list ? list('timeZone') : ['UTC'];
}

const local = (at: string) => (at ? new Date(at).toISOString().slice(0, 16) : '');
const utc = (text: string) => (text ? `${text}:00Z` : '');

function Groups({ form, set, noTeams }: Part & { noTeams?: boolean }) {
    const isTop = form.team_combine.startsWith('top:');
    return (
        <Card title={noTeams ? 'Scopes' : 'Scopes and teams'}>
            <Field label="Scopes" help="Attributes of players that get a ranking of their own per value, separated by commas: country, platform. A player who changes country moves.">
                <input value={form.scopes} autocapitalize="none" spellcheck={false} onInput={(event) => set({ scopes: event.currentTarget.value })} />
            </Field>
            {!noTeams && <Field label="Teams by" help="An attribute whose values are ranked themselves: guild, school. Left empty, there is no team ranking.">
                <input value={form.team_by} autocapitalize="none" spellcheck={false} onInput={(event) => set({ team_by: event.currentTarget.value })} />
            </Field>}
            {!noTeams && form.team_by.trim() && (
                <Field label="A team’s score" help="All members added, their mean, or only the best few, so that big teams do not win by size."
                       extra={isTop && <input aria-label="How many of the best" inputMode="numeric" value={form.team_combine.slice(4)} onInput={(event) => set({ team_combine: `top:${event.currentTarget.value}` })} />}>
                    <Select value={isTop ? 'top' : form.team_combine} onChange={(combine) => set({ team_combine: combine === 'top' ? 'top:5' : combine })}
                            options={[['sum', 'Sum'], ['mean', 'Mean'], ['top', 'Best few']]} />
                </Field>
            )}
        </Card>
    );
}

const LIMIT_HELP: Record<string, [string, string]> = {
    min: ['Lowest score', 'A submission below is refused.'],
    max: ['Highest score', 'A submission above is refused: what nobody can reach honestly.'],
    max_step: ['Largest step', 'How far one submission may change a player’s score.'],
    per_player_per_minute: ['Per player and minute', 'Submissions of one player that are accepted in one minute.'],
    z_score: ['Outliers', 'Refuse what lies more than so many standard deviations (robust) from the median. 6 is strict enough for most games.'],
};

function Limits({ form, set, wrong }: Part) {
    return (
        <Card title="Limits">
            {LIMITS.map((name) => (
                <Field key={name} label={LIMIT_HELP[name][0]} help={LIMIT_HELP[name][1]} error={wrong![`limits.${name}`]}>
                    <input inputMode="decimal" placeholder="none" value={form.limits[name]} aria-invalid={Boolean(wrong![`limits.${name}`])}
                           onInput={(event) => set({ limits: { ...form.limits, [name]: event.currentTarget.value } })} />
                </Field>
            ))}
            <Field label="Writers" help="Who may submit: trusted servers with a key, or also players themselves, with submissions that they sign.">
                <Select value={form.writers} onChange={(writers) => set({ writers })} options={[['server', 'Servers'], ['player', 'Servers, and players who sign']]} />
            </Field>
        </Card>
    );
}

// Only where the server knows sketch boards.
function Kind({ form, set }: Part) {
    const hasSketches = useDescribes('Board', 'sketch');
    if (!hasSketches) return null;
    return (
        <Card title="Kind">
            <Field label="Board" help="An exact board has an entry for every player. A sketch board has memory that is fixed in advance, whatever arrives, and its answers say how far they can be off. It cannot change later.">
                <Select value={form.kind} onChange={(kind) => set({ kind, ...(kind === 'sketch' ? { type: 'integer', order: 'desc', update: 'sum' } : {}) })} options={[['exact', 'Exact'], ['sketch', 'Sketch']]} />
            </Field>
        </Card>
    );
}

function Sketch({ form, set, exists, wrong }: Part) {
    return (
        <Card title="Sketch">
            {exists && <p class="note-box">{FIXED}</p>}
            <Field label="Keeps" help="The largest sums of a stream without end, each with a lower and an upper bound; where a score stands among any number of scores; or how many different players there were.">
                <Select value={form.sketch} disabled={exists} onChange={(sketch) => set({ sketch })} options={[['counts', 'Largest counts'], ['percentile', 'Percentiles'], ['distinct', 'Different players']]} />
            </Field>
            <Field label="Memory" error={wrong!.memory} help="Of each ranking: every window, and every value of a scope in it. 64KiB to 64MiB. More memory, smaller error.">
                <input value={form.memory} disabled={exists} aria-invalid={Boolean(wrong!.memory)} autocapitalize="none" spellcheck={false} onInput={(event) => set({ memory: event.currentTarget.value })} />
            </Field>
            {form.sketch === 'counts' && (
                <Field label="Update" help="What a submission adds to a name: its score, or 1.">
                    <Select value={form.update === 'count' ? 'count' : 'sum'} disabled={exists} onChange={(update) => set({ update })} options={[['sum', 'Its score'], ['count', 'One']]} />
                </Field>
            )}
            {form.sketch === 'percentile' && (
                <>
                    <Field label="Type" help="Of a score.">
                        <Select value={form.type} options={TYPES} disabled={exists} onChange={(type) => set({ type })} />
                    </Field>
                    <Field label="Order" help="Highest first for points, lowest first for times.">
                        <Select value={form.order} options={ORDERS} disabled={exists} onChange={(order) => set({ order })} />
                    </Field>
                </>
            )}
        </Card>
    );
}

function Rating({ form, set, wrong }: Part) {
    return (
        <Card title="Rating">
            {PARAMETERS[form.update].map(({ name, label, normal, help }) => (
                <Field key={name} label={label} help={help} error={wrong![`rating.${name}`]}>
                    <input inputMode="decimal" placeholder={normal} value={form.rating[name] || ''} aria-invalid={Boolean(wrong![`rating.${name}`])}
                           onInput={(event) => set({ rating: { ...form.rating, [name]: event.currentTarget.value } })} />
                </Field>
            ))}
        </Card>
    );
}

function Rules({ form, set, wrong }: Part) {
    return (
        <Card title="Plausibility">
            <RuleEditor form={form} set={set} wrong={wrong!} />
            <Field label="Review" help="What waits for a moderator before it counts, beside what breaks a rule with that action." error={wrong!.review}
                   extra={form.review === 'top' && <input aria-label="How many of the first" inputMode="numeric" value={form.review_top} aria-invalid={Boolean(wrong!.review)} onInput={(event) => set({ review_top: event.currentTarget.value })} />}>
                <Select value={form.review} onChange={(review) => set({ review })} options={[['', 'Nothing else'], ['anomalies', 'What a rule flags'], ['top', 'What would enter the first …']]} />
            </Field>
            {isReviewed(form) && (
                <>
                    <Field label="A review ends after" error={wrong!.review_days} help="Days until a score that nobody decided on is decided by itself.">
                        <input inputMode="decimal" value={form.review_days} aria-invalid={Boolean(wrong!.review_days)} onInput={(event) => set({ review_days: event.currentTarget.value })} />
                    </Field>
                    <Field label="And then" help="What becomes of such a score.">
                        <Select value={form.review_outcome} onChange={(review_outcome) => set({ review_outcome })} options={[['reject', 'It is rejected'], ['promote', 'It counts']]} />
                    </Field>
                </>
            )}
        </Card>
    );
}

function Delete({ id }: { id: string }) {
    const [typed, set] = useState('');
    const [error, setError] = useState('');
    return (
        <Card title="Delete">
            <form class="inline-form" onSubmit={async (event) => {
                event.preventDefault();
                if (typed !== id) return;
                try {
                    await api.deleteBoard(id);
                    location.hash = '#/admin';
                } catch (problem) {
                    setError((problem as Error).message);
                }
            }}>
                <label class="field"><span>Type <code>{id}</code> to delete the board with every ranking it holds</span>
                    <input value={typed} autocomplete="off" autocapitalize="none" spellcheck={false} onInput={(event) => set(event.currentTarget.value)} /></label>
                <button class="button danger" type="submit" disabled={typed !== id}>Delete board</button>
                {error && <span class="field-error" role="alert">{error}</span>}
            </form>
        </Card>
    );
}
