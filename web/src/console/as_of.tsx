// SPDX-License-Identifier: Apache-2.0
// A board as it was at a moment: choosing it, and saying all the time that this is not now.
import { useEffect, useRef, useState } from 'preact/hooks';
import * as format from '../lib/format';

type At = (change: Record<string, string>) => string;
const HOUR = 3600e3;
const CHOICES: [string, number][] = [['An hour ago', HOUR], ['Yesterday', 24 * HOUR], ['A week ago', 168 * HOUR]];

const go = (at: At, moment: string) => (location.hash = at({ as_of: moment, offset: '' }));
const before = (ms: number) => new Date(Date.now() - ms).toISOString();

function Choose({ asOf, at, onDone }: { asOf?: string; at: At; onDone?: () => void }) {
    const [text, set] = useState(() => format.toLocal(asOf && !/^\d+$/.test(asOf) ? asOf : before(HOUR)));
    return (
        <form class="choose-moment" onSubmit={(event) => {
            event.preventDefault();
            const moment = format.fromLocal(text);
            if (!moment) return;
            go(at, moment);
            onDone?.();
        }}>
            <input type="datetime-local" step={1} aria-label="Moment" required value={text} onInput={(event) => set(event.currentTarget.value)} />
            <button class="button primary" type="submit">Show</button>
        </form>
    );
}

export function AsOfButton({ asOf, at }: { asOf?: string; at: At }) {
    const [open, set] = useState(false);
    const panel = useRef<HTMLDivElement>(null);
    useEffect(() => {
        if (open) panel.current?.querySelector('input')?.focus();
    }, [open]);
    if (asOf) return null;
    return (
        <div class="share" onKeyDown={(event) => event.key === 'Escape' && set(false)}>
            <button class="button" type="button" aria-expanded={open} onClick={() => set(!open)}>As of…</button>
            {open && (
                <div class="popover small" ref={panel} role="group" aria-label="As of a moment">
                    <h2>The board as it was</h2>
                    <Choose at={at} onDone={() => set(false)} />
                    <div class="buttons">
                        {CHOICES.map(([name, ms]) => <button class="button small" type="button" key={name} onClick={() => {
                            set(false);
                            go(at, before(ms));
                        }}>{name}</button>)}
                    </div>
                    <p class="quiet">Exactly what was answered then, computed from the log, as far back as it is kept.</p>
                </div>
            )}
        </div>
    );
}

// The bar above a board of the past.
export function AsOf({ asOf, at }: { asOf: string; at: At }) {
    const isTime = !/^\d+$/.test(asOf);
    const by = (ms: number) => at({ as_of: new Date(Date.parse(asOf) + ms).toISOString() });
    return (
        <div class="as-of" role="region" aria-label="As of a moment">
            <p><strong>As it was</strong> <span>{isTime ? <time dateTime={asOf}>{format.moment(asOf)}</time> : <>right after {format.moment(asOf)}</>}</span></p>
            <div class="as-of-steps">
                {isTime && <a class="button small" href={by(-HOUR)}>1 h earlier</a>}
                {isTime && Date.parse(asOf) + HOUR < Date.now() && <a class="button small" href={by(HOUR)}>1 h later</a>}
                {!isTime && Number(asOf) > 1 && <a class="button small" href={at({ as_of: String(Number(asOf) - 1) })}>One event earlier</a>}
                {!isTime && <a class="button small" href={at({ as_of: String(Number(asOf) + 1) })}>One event later</a>}
            </div>
            <Choose asOf={asOf} at={at} key={asOf} />
            <a class="button" href={at({ as_of: '', offset: '' })}>Back to now</a>
        </div>
    );
}
