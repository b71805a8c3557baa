import { useEffect, useRef } from 'react';
import uPlot, { type AlignedData, type Options } from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { useIsDark } from '../shell/theme.ts';
import { Card } from './card.tsx';
import { moneyText } from './money.tsx';
import { Pending } from './pending.tsx';
import type { Read } from './reads.ts';

interface ChartProps {
  /** Text alternative for screen readers: one sentence that says what the chart shows. */
  readonly label: string;
  /** Seconds since 1970, ascending. */
  readonly x: readonly number[];
  readonly series: readonly { readonly name: string; readonly values: readonly number[] }[];
  /** Whether there is one value per month, at its first moment (UTC). The axis then names months. */
  readonly months?: boolean;
  readonly format?: (value: number) => string;
}

const HEIGHT = 200;
/** Steps (s) of an axis of months. uPlot takes 30 days for a month. */
const MONTHS = [1, 2, 3, 6].map((months) => months * 30 * 86_400);

/** Import the components of this file from `kit/chart.tsx`, so that uPlot is loaded only with pages that draw charts. */
export const Chart = ({ label, x, series, months = false, format }: ChartProps) => {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const isDark = useIsDark();
  const data: AlignedData = [[...x], ...series.map(({ values }) => [...values])];
  const latest = useRef(data);
  latest.current = data;
  const names = series.map(({ name }) => name).join('\n');
  const written = useRef(format);
  written.current = format;

  useEffect(() => {
    const { current: element } = box;
    if (element === null) return;
    // The theme decides the colours.
    element.dataset.dark = String(isDark);
    const style = getComputedStyle(element);
    const colour = (name: string): string => style.getPropertyValue(name);
    // `light-dark()` is resolved on properties only, not in variables.
    const resolved = (variable: string): string => {
      const probe = document.createElement('span');
      probe.style.color = `var(${variable})`;
      element.append(probe);
      const found = getComputedStyle(probe).color;
      probe.remove();
      return found;
    };
    const axis = {
      stroke: resolved('--muted'),
      font: `12px ${colour('--font')}`,
      grid: { stroke: resolved('--border'), width: 1 },
      ticks: { show: false },
    };
    const text = (value: number | null): string =>
      value === null ? '' : (written.current?.(value) ?? value.toLocaleString());
    const options: Options = {
      width: element.clientWidth,
      height: HEIGHT,
      scales: { y: { range: (_plot, low, high) => [Math.min(0, low), high <= 0 ? 1 : high * 1.1] } },
      ...(months ? { tzDate: (seconds) => uPlot.tzDate(new Date(1000 * seconds), 'Etc/UTC') } : {}),
      legend: { show: names.includes('\n') },
      cursor: { points: { size: 6 } },
      axes: [
        months ? { ...axis, incrs: MONTHS } : axis,
        {
          ...axis,
          size: 56,
          values: (_plot, splits) => splits.map(text),
        },
      ],
      series: [
        months ? { label: 'Month', value: '{YYYY}-{MM}' } : {},
        ...names.split('\n').map((name, nth) => {
          return {
            label: name,
            stroke: resolved(`--series-${(nth % 4) + 1}`),
            width: 1.75,
            points: { show: false },
            value: (_plot: uPlot, value: number | null) => text(value),
          };
        }),
      ],
    };
    const made = new uPlot(options, latest.current, element);
    plot.current = made;
    const resize = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT }));
    resize.observe(element);
    return () => {
      resize.disconnect();
      made.destroy();
      plot.current = undefined;
    };
  }, [names, months, isDark]);

  useEffect(() => plot.current?.setData(data));

  return <div ref={box} className="chart" role="img" aria-label={label} />;
};

interface MonthsProps<M> {
  readonly title: string;
  readonly label: string;
  /** Names the data for screen readers. */
  readonly what: string;
  readonly months: readonly { readonly from: string }[];
  /** An answer for each of the months. */
  readonly read: Read<readonly M[]>;
  /** Names of the lines, and the amount of a month in minor units. */
  readonly series: readonly (readonly [name: string, amount: (month: M) => number])[];
  readonly currency: string;
}

/** A card with amounts by month. */
export const MonthsCard = <M,>({ title, what, months, read, series, currency, label }: MonthsProps<M>) => {
  const { data } = read;
  return (
    <Card title={title}>
      {data === undefined ? (
        <Pending of={read} what={what} />
      ) : (
        <Chart
          label={label}
          months
          x={months.map(({ from }) => Date.parse(`${from}T00:00:00Z`) / 1000)}
          series={series.map(([name, amount]) => ({ name, values: data.map(amount) }))}
          format={(minor) => moneyText(Math.round(minor), currency)}
        />
      )}
    </Card>
  );
};
