// SPDX-License-Identifier: Apache-2.0
// How the server is doing: /metrics read every two seconds and drawn for as long as the page is open.
import { useEffect, useRef, useState } from 'preact/hooks';
import * as format from '../../lib/format';
import { useKey, useTitle } from '../../lib/hooks';
import { buckets, quantile, total } from '../../lib/metrics';
import { Chart } from '../../ui/chart';
import { Card, Figure, Problem } from '../../ui/parts';
import { KeyNote, perSecond, useReadings } from './boards';

const EVERY_MS = 2000;
const KEPT = 300; // ten minutes

interface Row {
    at: number;
    requests: number | null;
    submissions: number | null;
    p50: number | null;
    p99: number | null;
    sync: number | null;
    lag: number | null;
}

const NAMES = {
    requests: 'rung_http_requests_total',
    latency: 'rung_http_request_seconds',
    events: 'rung_events_total',
    sync: 'rung_log_sync_seconds',
    lag: 'rung_archive_behind_events',
    connections: 'rung_connections',
    memory: 'process_resident_memory_bytes',
    players: 'rung_players',
    viewers: 'rung_live_viewers',
};

export function Health() {
    useTitle('Health');
    const key = useKey();
    const { now, before, error } = useReadings(EVERY_MS);
    const rows = useRef<Row[]>([]);
    const [, tick] = useState(0);
    useEffect(() => {
        if (!now || !before) return;
        const span = (name: string, q: number) => quantile(buckets(before.samples, name), buckets(now.samples, name), q);
        rows.current = [...rows.current, {
            at: now.at / 1000,
            requests: perSecond(now, before, NAMES.requests),
            submissions: perSecond(now, before, NAMES.events),
            p50: span(NAMES.latency, 0.5),
            p99: span(NAMES.latency, 0.99),
            sync: span(NAMES.sync, 0.99),
            lag: total(now.samples, NAMES.lag),
        }].slice(-KEPT);
        tick((n) => n + 1);
    }, [now]);
    const list = rows.current;
    const x = list.map((row) => row.at);
    const last = list[list.length - 1];
    const one = (name: string) => (now ? total(now.samples, name) : null);
    return (
        <>
            <header class="page-head"><h1>Health</h1><span class="spring" /><span class={'status ' + (error ? 'offline' : now ? 'live' : '')}>{error ? 'No answer' : now ? 'Every 2 seconds' : 'Connecting'}</span></header>
            {!key && now && <KeyNote />}
            {error && !now ? <Card><Problem error={error} /></Card> : (
                <>
                    <dl class="figures strip">
                        <Figure name="Requests" value={format.rate(last?.requests)} note="per second" />
                        <Figure name="Events" value={format.rate(last?.submissions)} note="per second" />
                        <Figure name="Latency" value={format.seconds(last?.p99)} note="99th percentile" />
                        <Figure name="Log sync" value={format.seconds(last?.sync)} note="99th percentile" />
                        <Figure name="Archive lag" value={format.count(last?.lag)} note="events" />
                        <Figure name="Connections" value={format.count(one(NAMES.connections))} note={one(NAMES.viewers) != null ? `${format.count(one(NAMES.viewers))} live` : 'open'} />
                        <Figure name="Memory" value={format.bytes(one(NAMES.memory))} note={`${format.count(one(NAMES.players))} players`} />
                    </dl>
                    <div class="charts">
                        <Plot title="Requests and events per second" x={x} zero format={format.rate}
                              series={[{ label: 'requests', values: list.map((r) => r.requests) }, { label: 'events', values: list.map((r) => r.submissions), accent: false }]} />
                        <Plot title="Latency" x={x} zero format={format.seconds}
                              series={[{ label: '99 %', values: list.map((r) => r.p99) }, { label: 'median', values: list.map((r) => r.p50), accent: false }]} />
                        <Plot title="Log sync, 99th percentile" x={x} zero format={format.seconds} series={[{ label: 'sync', values: list.map((r) => r.sync) }]} />
                        <Plot title="Archive lag" x={x} zero whole format={format.count} series={[{ label: 'events behind', values: list.map((r) => r.lag) }]} />
                    </div>
                </>
            )}
        </>
    );
}

function Plot({ title, x, series, ...more }: {
    title: string; x: number[]; series: { label: string; values: (number | null)[]; accent?: boolean }[]; zero?: boolean; whole?: boolean;
    format: (value: number) => string }) {
    const any = series.some((s) => s.values.some((v) => v != null));
    return (
        <Card title={title} aside={series.length > 1 && (
            <span class="legend">{series.map((s) => <span key={s.label} class={s.accent === false ? 'quiet-line' : ''}>{s.label}</span>)}</span>)}>
            {x.length < 2 || !any ? <p class="quiet hint chart-wait">{x.length < 2 ? 'Collecting the first readings…' : 'Nothing of this kind has happened yet.'}</p>
                : <Chart time height={190} x={x} series={series} {...more} label={`${title}: ${series.map((s) => `${s.label} now ${more.format(s.values[s.values.length - 1] ?? 0)}`).join(', ')}.`} />}
        </Card>
    );
}
