import { useEffect, useRef } from 'react';
import uPlot, { type AlignedData, type Options } from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { useIsDark } from '../shell/theme.ts';

interface ChartProps {
  /** Text alternative for screen readers: one sentence that says what the chart shows. */
  readonly label: string;
  /** Ascending: seconds since 1970, or any numbers if `time` is false. */
  readonly x: readonly number[];
  readonly series: readonly { readonly name: string; readonly values: readonly (number | null)[] }[];
  readonly time?: boolean;
  /** Whether there is one value per month, at its first moment (UTC). The axis then names months. */
  readonly months?: boolean;
  /** px; default 200. */
  readonly height?: number;
  readonly format?: (value: number) => string;
}

/** Steps (s) of an axis of months. uPlot takes 30 days for a month. */
const MONTHS = [1, 2, 3, 6].map((months) => months * 30 * 86_400);

/** Import this component from `kit/chart.tsx`, so that uPlot is loaded only with pages that draw charts. */
export const Chart = ({
  label,
  x,
  series,
  time = true,
  months = false,
  height = 200,
  format,
}: ChartProps) => {
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
      height,
      scales: {
        x: { time },
        y: { range: (_plot, low, high) => [Math.min(0, low), high <= 0 ? 1 : high * 1.1] },
      },
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
    const resize = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    resize.observe(element);
    return () => {
      resize.disconnect();
      made.destroy();
      plot.current = undefined;
    };
  }, [names, time, months, height, isDark]);

  useEffect(() => plot.current?.setData(data));

  return <div ref={box} className="chart" role="img" aria-label={label} />;
};
