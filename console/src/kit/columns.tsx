import type { ReactNode } from 'react';
import { Count } from './count.tsx';
import type { Column } from './data-table.tsx';
import { Time } from './time.tsx';

/** A column with the age of a time. @param none is shown in a row without a time */
export const ago = <T,>(
  key: string,
  title: string,
  at: (row: T) => string | null | undefined,
  none: ReactNode = null,
): Column<T> => ({
  key,
  title,
  min: 110,
  grow: 0,
  cell: (row) => {
    const moment = at(row);
    return moment === null || moment === undefined ? none : <Time at={moment} relative />;
  },
});

/** The last column, with the buttons of a row. */
export const actions = <T,>(min: number, cell: (row: T) => ReactNode): Column<T> => ({
  key: 'actions',
  title: '',
  min,
  grow: 0,
  cell,
});

/** A column of numbers; each links to its source, unless `to` returns undefined. */
export const counts = <T,>(
  key: string,
  title: string,
  of: (row: T) => number,
  to: (row: T) => string | undefined,
  min = 90,
): Column<T> => ({
  key,
  title,
  min,
  grow: 0,
  align: 'end',
  cell: (row) => <Count of={of(row)} to={to(row)} />,
});
