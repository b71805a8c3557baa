/** One line of the table: a figure with its yardstick of the same run. */
export interface Line {
  readonly figure: string;
  readonly value: Amount;
  readonly yardstick?: { readonly name: string; readonly value: Amount };
  /** Absent for an informative line. */
  readonly target?: { readonly text: string; readonly met: boolean };
  /** Replaces `value / yardstick` if another ratio says more. */
  readonly ratio?: number;
}

export interface Amount {
  readonly amount: number;
  readonly unit: '' | '/s' | 'ms' | 'µs' | '%' | 'MiB';
}

export const count = (amount: number): Amount => ({ amount, unit: '' });
export const perSecond = (amount: number): Amount => ({ amount, unit: '/s' });
export const milliseconds = (amount: number): Amount => ({ amount, unit: 'ms' });
export const microseconds = (amount: number): Amount => ({ amount, unit: 'µs' });
export const mebibytes = (bytes: number): Amount => ({ amount: bytes / 1_048_576, unit: 'MiB' });
export const percent = (share: number): Amount => ({ amount: share * 100, unit: '%' });

export const ratioOf = ({ ratio, value, yardstick }: Line): number | undefined =>
  ratio ?? (yardstick === undefined ? undefined : value.amount / yardstick.value.amount);

const show = ({ amount, unit }: Amount): string =>
  amount >= 1000
    ? `${Math.round(amount).toLocaleString('en')}${unit === '/s' ? '' : ' '}${unit}`
    : `${amount.toPrecision(3)}${unit === '/s' ? '' : ' '}${unit}`;

/** @param checked false if sizes were scaled down: targets are then printed but not checked */
const verdict = ({ target }: Line, checked: boolean): string => {
  if (target === undefined) return '';
  if (!checked) return '-';
  return target.met ? 'ok' : 'MISS';
};

/** The table as text, with aligned columns. */
export const table = (lines: readonly Line[], checked: boolean): string => {
  const rows = [
    ['figure', 'value', 'yardstick', 'value', 'ratio', 'target', ''],
    ...lines.map((line) => [
      line.figure,
      show(line.value),
      line.yardstick?.name ?? '',
      line.yardstick === undefined ? '' : show(line.yardstick.value),
      ratioOf(line)?.toFixed(2) ?? '',
      line.target?.text ?? '',
      verdict(line, checked),
    ]),
  ];
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
};

/** The lines as one line of JSON. */
export const jsonLine = (lines: readonly Line[], scale: number): string =>
  JSON.stringify({
    bench: 'workflow-platform',
    scale,
    node: process.version,
    figures: lines.map((line) => ({
      figure: line.figure,
      value: rounded(line.value.amount),
      unit: line.value.unit,
      yardstick: line.yardstick?.name,
      yardstick_value: line.yardstick && rounded(line.yardstick.value.amount),
      ratio: rounded(ratioOf(line)),
      target: line.target?.text,
      met: line.target?.met,
    })),
  });

const rounded = (value: number | undefined): number | undefined =>
  value === undefined ? undefined : Number(value.toPrecision(4));
