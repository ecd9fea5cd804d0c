// SPDX-License-Identifier: Apache-2.0
// Plausibility rules and the parameters of ratings in words, for the editor and for evidence.
import type { Exact } from './json';
import * as format from './format';

export interface RuleForm {
    rule: string;
    value: string;
    per: string; // seconds
    action: string;
}

export interface BrokenRule {
    rule: string;
    action: string;
    value?: Exact | boolean | null;
    limit?: Exact | null;
}

interface RuleKind {
    name: string;
    measure: '' | 'score' | 'count' | 'deviations'; // of its value; '': it has none
    hasPer?: boolean;
    help: string;
    measured: string; // what the value # of a broken rule is
}

export const RULES: Record<string, RuleKind> = {
    min: { name: 'Lowest score', measure: 'score', measured: '#', help: 'Scores below.' },
    max: { name: 'Highest score', measure: 'score', measured: '#', help: 'Scores above: what nobody reaches honestly.' },
    max_step: { name: 'Largest step', measure: 'score', measured: 'a step of #', help: 'A score further than this from the one that stands.' },
    max_rate: { name: 'Points per time', measure: 'score', hasPer: true, measured: '# points', help: 'More points than this in so many seconds since the player’s last submission.' },
    submissions: { name: 'Submissions per time', measure: 'count', hasPer: true, measured: '# submissions', help: 'More submissions of a player than this in so many seconds.' },
    z_score: { name: 'Outlier on the board', measure: 'deviations', measured: '# deviations', help: 'Further from the board’s median than so many robust standard deviations. From 100 entries on.' },
    z_player: { name: 'Outlier of the player', measure: 'deviations', measured: '# deviations', help: 'Further from the player’s own mean than so many deviations. From 8 scores on.' },
    first_min: { name: 'Lowest first score', measure: 'score', measured: '#', help: 'A player’s first score below this.' },
    first_max: { name: 'Highest first score', measure: 'score', measured: '#', help: 'A player’s first score above this: nobody begins as the best.' },
    attested_duration: { name: 'Duration attested', measure: '', measured: '', help: 'The submission does not say how long the game took.' },
    attested_seed: { name: 'Seed attested', measure: '', measured: '', help: 'The submission does not name the game’s seed.' },
    attested_replay: { name: 'Replay attested', measure: '', measured: '', help: 'The submission has no checksum of a replay.' },
};

export const ACTIONS = ['refuse', 'flag', 'review'];
export const ACTION_NAMES: Record<string, string> = { refuse: 'Refuse it', flag: 'Count it, and say so', review: 'Hold it for review' };
export const ACTION_DONE: Record<string, string> = { refuse: 'refused', flag: 'flagged', review: 'held' };

// What a rule is called; those that are not of a definition as well.
export function ruleName(rule: string): string {
    const more: Record<string, string> = { top: 'Would be among the first', per_player_per_minute: 'Submissions per minute', banned: 'Banned', window: 'No window takes it' };
    return RULES[rule]?.name || more[rule] || rule.replace(/_/g, ' ');
}

// How far beyond its limit a measured value is, from 0 (at it) to 1 (ten times and more); null where that says nothing.
export function excess(broken: BrokenRule): number | null {
    const value = Number(broken.value), limit = Number(broken.limit);
    if (!Number.isFinite(value) || !Number.isFinite(limit) || limit <= 0 || value <= limit) return null;
    return Math.min(1, Math.log10(value / limit));
}

// "61.1 deviations, limit 6": the evidence in one line.
export function evidence(broken: BrokenRule): string {
    const kind = RULES[broken.rule];
    if (kind && !kind.measure) return 'not attested';
    if (broken.value == null) return '';
    const show = (value: Exact | boolean | null | undefined) => format.score(value as Exact, typeof value === 'number' && !Number.isInteger(value) ? (kind?.measure === 'deviations' ? 1 : 2) : undefined);
    if (broken.rule === 'top') return `place ${show(broken.value)} of the first ${show(broken.limit)}`;
    return `${kind ? kind.measured.replace('#', show(broken.value)) : show(broken.value)}, limit ${show(broken.limit)}`;
}

// ---- ratings ----

interface Parameter {
    name: string;
    label: string;
    normal: string; // what it is when left empty
    help: string;
}

const COMMON: Parameter[] = [
    { name: 'min_games', label: 'Ranked from so many games', normal: '0', help: 'Players with fewer games have a rating but no rank yet.' },
    { name: 'draw', label: 'Draws between equals', normal: '0', help: 'How often equals draw, 0 to 1; for predictions only.' },
];

export const PARAMETERS: Record<string, Parameter[]> = {
    elo: [
        { name: 'initial', label: 'Rating of a new player', normal: '1500', help: 'Everybody begins here.' },
        { name: 'k', label: 'K', normal: '32', help: 'The most that one match can move a rating.' },
        { name: 'provisional_games', label: 'Provisional games', normal: '0', help: 'For so many games a player moves by another K.' },
        { name: 'provisional_k', label: 'K of provisional players', normal: '0', help: '0: K as for everybody.' },
        { name: 'floor', label: 'Floor', normal: 'none', help: 'No rating falls below.' },
        ...COMMON,
    ],
    glicko2: [
        { name: 'initial', label: 'Rating of a new player', normal: '1500', help: 'Everybody begins here.' },
        { name: 'deviation', label: 'Deviation of a new player', normal: '350', help: 'How uncertain a new rating is.' },
        { name: 'conservative', label: 'Deviations taken off', normal: '2', help: 'The score shown is the rating minus so many deviations.' },
        { name: 'tau', label: 'Tau', normal: '0.5', help: 'How fast the volatility changes: 0.3 to 1.2.' },
        { name: 'period', label: 'Rating period in seconds', normal: '86400', help: 'Unit of inactivity: the deviation grows with every one without a match. 0: never.' },
        ...COMMON,
    ],
    openskill: [
        { name: 'initial', label: 'Skill of a new player', normal: '25', help: 'Everybody begins here.' },
        { name: 'deviation', label: 'Deviation of a new player', normal: '8.3333', help: 'How uncertain a new skill is.' },
        { name: 'conservative', label: 'Deviations taken off', normal: '3', help: 'The score shown is the skill minus so many deviations.' },
        { name: 'model', label: 'Model', normal: 'plackett_luce', help: 'plackett_luce, bradley_terry_full or bradley_terry_part.' },
        { name: 'beta', label: 'Beta', normal: '4.1667', help: 'Spread of a performance around the skill.' },
        { name: 'tau', label: 'Tau', normal: '0.0833', help: 'Added to the deviation before each match.' },
        ...COMMON,
    ],
};
