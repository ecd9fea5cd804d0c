// SPDX-License-Identifier: Apache-2.0
// uPlot in our colours, as wide as its box, redrawn when the theme changes. A chart is a picture to screen readers: the label says what it shows.
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { useEffect, useRef } from 'preact/hooks';

export interface Series {
    label: string;
    values: (number | null)[];
    accent?: boolean;
    dash?: boolean;
    points?: boolean; // every value as a dot
    none?: boolean;   // no line between them
    warn?: boolean;   // in the colour of what went wrong
}

interface ChartProps {
    label: string; // what the picture says, in a sentence
    x: number[];
    series: Series[];
    height?: number;
    kind?: 'line' | 'bars';
    time?: boolean;
    invert?: boolean;            // small values on top: ranks
    zero?: boolean;              // the y axis starts at 0
    format?: (value: number) => string;
    formatX?: (value: number) => string;
    mark?: { x: number; label: string } | null; // "you are here"
    whole?: boolean;             // y values are whole numbers
    band?: [number, number];     // two of the series, by place: what is between them is filled
}

function colour(name: string): string {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

export function Chart(props: ChartProps) {
    const box = useRef<HTMLDivElement>(null);
    const plot = useRef<uPlot | null>(null);
    const shape = `${props.kind}|${props.series.length}|${props.invert}|${props.height}|${props.mark ? 1 : 0}|${props.band}`;
    const latest = useRef(props);
    latest.current = props;

    useEffect(() => {
        const build = () => {
            plot.current?.destroy();
            plot.current = box.current ? new uPlot(options(latest, box.current.clientWidth), data(latest.current), box.current) : null;
        };
        build();
        let width = box.current!.clientWidth;
        const sizes = new ResizeObserver(() => {
            const next = box.current?.clientWidth || 0;
            if (next && next !== width) plot.current?.setSize({ width: (width = next), height: latest.current.height || 180 });
        });
        sizes.observe(box.current!);
        const scheme = matchMedia('(prefers-color-scheme: dark)');
        scheme.addEventListener('change', build);
        addEventListener('rung:theme', build);
        return () => {
            sizes.disconnect();
            scheme.removeEventListener('change', build);
            removeEventListener('rung:theme', build);
            plot.current?.destroy();
            plot.current = null;
        };
    }, [shape]);

    useEffect(() => {
        plot.current?.setData(data(props));
    }, [props.x, props.series, props.mark?.x]);

    return <div class="chart" ref={box} role="img" aria-label={props.label} />;
}

// Times that are the same, or in another order than the values, a moment apart: a chart wants each to be later than the one before.
export function rising(times: number[]): number[] {
    const out: number[] = [];
    for (const at of times) out.push(out.length && at <= out[out.length - 1] ? out[out.length - 1] + 0.001 : at);
    return out;
}

function data(props: ChartProps): uPlot.AlignedData {
    return [props.x, ...props.series.map((series) => series.values)] as uPlot.AlignedData;
}

function options(latest: { current: ChartProps }, width: number): uPlot.Options {
    const props = latest.current;
    const ink = colour('--ink-3'), line = colour('--line'), accent = colour('--accent'), quiet = colour('--line-2');
    const font = `11px ${colour('--font')}`;
    const show = (value: number) => (latest.current.format ? latest.current.format(value) : String(value));
    const axis = { stroke: ink, font, ticks: { show: false }, grid: { stroke: line, width: 1 } };
    const bars = props.kind === 'bars';
    return {
        width, height: props.height || 180, padding: [12, props.time ? 30 : 8, 0, 0],
        cursor: { x: !bars, y: false, points: { size: 6 }, drag: { x: false, y: false } },
        legend: { show: false },
        scales: {
            x: { time: Boolean(props.time) },
            y: {
                dir: props.invert ? -1 : 1,
                range: (_, min, max) => range(latest.current, min, max),
            },
        },
        axes: [
            { ...axis, grid: { show: false }, size: 26, space: 70, ...(props.time ? { incrs: TIME_STEPS } : {}),
              values: (_, ticks, __, ___, step) => ticks.map((v) => tickName(latest.current, v, step)) },
            { ...axis, ...(props.whole ? { incrs: WHOLE_STEPS } : {}), size: (_, values) => 12 + 6.2 * Math.max(2, ...(values || []).map((v) => v.length)), space: 34,
              values: (_, ticks) => ticks.map((v) => (v === 0 && !latest.current.invert ? '0' : show(v))) },
        ],
        series: [{}, ...props.series.map((series) => ({
            label: series.label,
            stroke: series.warn ? colour('--warn') : series.accent === false ? ink : accent,
            width: bars || series.none ? 0 : series.accent === false && props.band ? 0.5 : 1.75,
            dash: series.dash ? [4, 4] : undefined,
            fill: bars ? colour('--accent-line') : undefined,
            paths: bars ? uPlot.paths.bars!({ size: [0.92, 40], align: 1, radius: 0.15 }) : undefined,
            points: { show: (plot: uPlot) => !bars && (series.points || (series.accent !== false && plot.data[0].length < 3)), size: 5,
                fill: series.warn ? colour('--warn') : accent, stroke: series.warn ? colour('--warn') : accent },
            spanGaps: true,
        }))],
        bands: props.band ? [{ series: [props.band[0] + 1, props.band[1] + 1], fill: colour('--accent-soft') }] : undefined,
        hooks: { draw: [(plot) => drawMark(plot, latest.current, accent, quiet)] },
        plugins: [tooltip(latest)],
    };
}

const DAY = 86400;
const TIME_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 43200,
    DAY, 2 * DAY, 7 * DAY, 14 * DAY, 28 * DAY, 91 * DAY, 182 * DAY, 365 * DAY];
const tickDay = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });
const tickMonth = new Intl.DateTimeFormat('en-GB', { month: 'short', year: 'numeric' });
const tickTime = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const tickSecond = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });

const WHOLE_STEPS = Array.from({ length: 12 }, (_, i) => [1, 2, 5].map((n) => n * 10 ** i)).flat();

function tickName(props: ChartProps, value: number, step: number): string {
    if (props.formatX) return props.formatX(value);
    if (!props.time) return String(value);
    const how = step >= 28 * DAY ? tickMonth : step >= DAY ? tickDay : step >= 60 ? tickTime : tickSecond;
    return how.format(value * 1000);
}

function range(props: ChartProps, min: number | null, max: number | null): [number, number] {
    if (min == null || max == null) return [0, 1];
    if (props.zero) return [0, max <= 0 ? 1 : max * 1.08];
    const pad = Math.max((max - min) * 0.1, props.whole ? 1 : Math.abs(max) * 0.01 || 1);
    return [props.invert ? Math.max(0, min - pad) : min - pad, max + pad];
}

function drawMark(plot: uPlot, props: ChartProps, accent: string, quiet: string): void {
    if (!props.mark) return;
    const x = plot.valToPos(props.mark.x, 'x', true);
    const { ctx, bbox } = plot;
    const scale = devicePixelRatio;
    ctx.save();
    ctx.strokeStyle = accent;
    ctx.lineWidth = 2 * scale;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.font = `600 ${11 * scale}px ${colour('--font')}`;
    const width = ctx.measureText(props.mark.label).width + 12 * scale;
    const left = x + width + 6 * scale > bbox.left + bbox.width ? x - width - 6 * scale : x + 6 * scale;
    ctx.fillStyle = accent;
    ctx.beginPath();
    ctx.roundRect(left, bbox.top, width, 18 * scale, 9 * scale);
    ctx.fill();
    ctx.fillStyle = colour('--accent-ink') || quiet;
    ctx.textAlign = 'left';
    ctx.textBaseline = 'middle';
    ctx.fillText(props.mark.label, left + 6 * scale, bbox.top + 9.5 * scale);
    ctx.restore();
}

// A small label that follows the pointer.
function tooltip(latest: { current: ChartProps }): uPlot.Plugin {
    let tip: HTMLElement;
    return {
        hooks: {
            init: (plot) => {
                tip = document.createElement('div');
                tip.className = 'chart-tip';
                tip.hidden = true;
                plot.over.append(tip);
                plot.over.addEventListener('mouseleave', () => (tip.hidden = true));
            },
            setCursor: (plot) => {
                const at = plot.cursor.idx;
                const { x, series, format, formatX, time } = latest.current;
                if (at == null || x[at] === undefined || (plot.cursor.left ?? -1) < 0) {
                    tip.hidden = true;
                    return;
                }
                const shown = series.map((s) => [s.label, s.values[at]] as const).filter(([, v]) => v != null);
                const head = formatX ? formatX(x[at]) : time ? new Date(x[at] * 1000).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'short' }) : String(x[at]);
                tip.textContent = [head, ...shown.map(([label, v]) => `${label} ${format ? format(v!) : v}`)].join(' · ');
                tip.hidden = shown.length === 0;
                const left = plot.valToPos(x[at], 'x');
                tip.style.left = `${Math.min(Math.max(left, 60), plot.over.clientWidth - 60)}px`;
            },
        },
    };
}
