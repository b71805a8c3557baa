import { useVirtualizer } from '@tanstack/react-virtual';
import { type CSSProperties, type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { Card, type CardProps } from './card.tsx';
import { Empty } from './empty.tsx';
import { type Answered, Failed } from './pending.tsx';
import type { Paged } from './reads.ts';

export interface Column<T> {
  readonly key: string;
  readonly title: string;
  readonly cell: (row: T) => ReactNode;
  /** Least width in px; default 120. */
  readonly min?: number;
  /** Share of the remaining width; default 1. With 0 the column stays at `min`. */
  readonly grow?: number;
  readonly align?: 'start' | 'end';
  /** A click on the heading sorts by this column; requires `sort` of the table. */
  readonly isSortable?: boolean;
}

/** The order requested from the server. */
export interface Sorting {
  /** Key of a column; undefined: the server's own order. */
  readonly by: string | undefined;
  readonly isDescending: boolean;
  readonly change: (by: string, isDescending: boolean) => void;
}

/** An answer of `useRead`, or `{ ...read, data: rowsMadeOfIt }`. */
export interface Listed<T> extends Answered {
  readonly data: readonly T[] | undefined;
}

interface TableProps<T> {
  readonly label: string;
  readonly rows: Listed<T> | Paged<T>;
  readonly columns: readonly Column<T>[];
  readonly rowKey: (row: T) => string;
  /** Called for a click on a row, or Enter. */
  readonly onOpen?: (row: T) => void;
  /** Path that a click on a row or Enter opens; a cell should also link to this path. */
  readonly to?: (row: T) => string;
  /** Shown when there are no rows. */
  readonly empty?: ReactNode;
  /** px; default 44. */
  readonly rowHeight?: number;
  readonly sort?: Sorting;
  /** Number of rows on all pages, if known. */
  readonly total?: number | undefined;
}

/** Distance from the end, in rows, at which the next page is read. */
const AHEAD = 30;
const KEYS = new Set(['ArrowDown', 'ArrowUp', 'Home', 'End', 'PageDown', 'PageUp', 'Enter']);

/**
 * A table of any length: only the rows in view are in the DOM, and a page is read when the user scrolls near it.
 * Arrows, Home, End and the page keys move through the rows, Enter opens a row.
 */
export const DataTable = <T,>(props: TableProps<T>) => {
  const { rows, columns, label, empty } = props;
  const isEndless = 'hasNextPage' in rows;
  const items: readonly T[] | undefined = isEndless
    ? rows.data?.pages.flatMap((page) => page.items)
    : rows.data;
  if (items === undefined) {
    if (rows.error !== null) return <FailedRows of={rows} />;
    return <Loading label={label} columns={columns.length} />;
  }
  return (
    <>
      {rows.error === null ? null : <FailedRows of={rows} />}
      {items.length === 0 ? (
        (empty ?? <Empty title="Nothing here yet" />)
      ) : (
        <Rows {...props} items={items} pages={isEndless ? rows : undefined} />
      )}
    </>
  );
};

/** A card with a table. */
export const TableCard = <T,>({
  title,
  actions,
  ...table
}: TableProps<T> & Pick<CardProps, 'title' | 'actions'>) => (
  <Card flush title={title} actions={actions}>
    <DataTable {...table} />
  </Card>
);

const FailedRows = ({ of }: { of: Answered }) => (
  <div className="card-body">
    <Failed of={of} />
  </div>
);

const WIDTHS = ['72%', '54%', '83%', '61%', '46%'];

const Loading = ({ label, columns }: { label: string; columns: number }) => (
  <div className="card-body stack" role="status" aria-label={`Loading ${label}`}>
    {WIDTHS.map((width) => (
      <span key={width} className="skeleton" style={{ width: columns > 2 ? width : '50%' }} />
    ))}
  </div>
);

interface RowsProps<T> extends TableProps<T> {
  readonly items: readonly T[];
  readonly pages: Paged<T> | undefined;
}

const Rows = <T,>(props: RowsProps<T>) => {
  const { label, items, pages, columns, rowKey, to, rowHeight = 44, sort, total } = props;
  const [, navigate] = useLocation();
  const onOpen = props.onOpen ?? (to && ((row: T) => navigate(to(row))));
  const box = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState(0);
  const hasToFocus = useRef(false);
  const virtual = useVirtualizer({
    count: items.length,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeight,
    overscan: 6,
  });
  const shown = virtual.getVirtualItems();
  const last = shown.at(-1)?.index ?? 0;
  const wantsMore =
    pages?.hasNextPage === true && !pages.isFetching && pages.error === null && last >= items.length - AHEAD;
  useEffect(() => {
    if (wantsMore) void pages.fetchNextPage();
  }, [wantsMore, pages]);
  useEffect(() => {
    if (!hasToFocus.current) return;
    const row = box.current?.querySelector<HTMLElement>(`[data-index="${active}"]`);
    if (!row) return;
    hasToFocus.current = false;
    row.focus({ preventScroll: true });
  });

  const move = (to: number): void => {
    const next = Math.max(0, Math.min(items.length - 1, to));
    hasToFocus.current = true;
    setActive(next);
    virtual.scrollToIndex(next);
  };
  const onKeyDown = (event: KeyboardEvent<HTMLElement>): void => {
    const { target } = event;
    // Ignores keys pressed in controls of a row.
    if (!KEYS.has(event.key) || !(target instanceof HTMLElement) || target.dataset.index === undefined)
      return;
    const page = Math.max(1, Math.floor((box.current?.clientHeight ?? 0) / rowHeight) - 2);
    const row = items[active];
    if (event.key === 'Enter') {
      if (row !== undefined) onOpen?.(row);
    } else if (event.key === 'ArrowDown') move(active + 1);
    else if (event.key === 'ArrowUp') move(active - 1);
    else if (event.key === 'PageDown') move(active + page);
    else if (event.key === 'PageUp') move(active - page);
    else if (event.key === 'Home') move(0);
    else move(items.length - 1);
    event.preventDefault();
  };

  const layout: CSSProperties = {
    gridTemplateColumns: columns
      .map(({ min = 120, grow = 1 }) => (grow === 0 ? `${min}px` : `minmax(${min}px, ${grow}fr)`))
      .join(' '),
    width: '100%',
    minWidth: columns.reduce((sum, { min = 120 }) => sum + min, 0),
  };
  const count = pages?.hasNextPage === true ? -1 : items.length;
  return (
    <>
      <div
        ref={box}
        className="table-box"
        role="grid"
        aria-label={label}
        aria-rowcount={count < 0 ? -1 : count + 1}
        aria-readonly
        tabIndex={-1}
      >
        <div className="table-head" role="row" aria-rowindex={1} style={layout} tabIndex={-1}>
          {columns.map((column) => (
            <Heading key={column.key} column={column} sort={sort} />
          ))}
        </div>
        <div
          className="table-space"
          role="rowgroup"
          style={{ height: virtual.getTotalSize(), minWidth: layout.minWidth }}
        >
          {shown.map(({ index, start }) => {
            const row = items[index];
            if (row === undefined) return null;
            return (
              <div
                key={rowKey(row)}
                className="table-row"
                role="row"
                aria-rowindex={index + 2}
                data-index={index}
                data-opens={onOpen !== undefined}
                tabIndex={index === Math.min(active, items.length - 1) ? 0 : -1}
                style={{ ...layout, height: rowHeight, transform: `translateY(${start}px)` }}
                onFocus={() => setActive(index)}
                onKeyDown={onKeyDown}
                onClick={(event) => {
                  const { target } = event;
                  // React also bubbles clicks from menus and dialogues of a row, which are outside its element.
                  if (!(target instanceof Element) || !event.currentTarget.contains(target)) return;
                  if (target.closest('a, button, input, select, label') !== null) return;
                  onOpen?.(row);
                }}
              >
                {columns.map(({ key, cell, align }) => (
                  <div
                    key={key}
                    className={key === 'actions' ? 'table-cell actions' : 'table-cell'}
                    role="gridcell"
                    data-align={align}
                    tabIndex={-1}
                  >
                    {cell(row)}
                  </div>
                ))}
              </div>
            );
          })}
        </div>
      </div>
      <div className="table-foot small muted" aria-live="polite">
        {pages?.isFetchingNextPage === true
          ? 'Loading more…'
          : footOf(items.length, pages?.hasNextPage === true, total)}
      </div>
    </>
  );
};

const footOf = (shown: number, hasMore: boolean, total: number | undefined): string => {
  const rows = (count: number): string => (count === 1 ? 'row' : 'rows');
  if (hasMore && total !== undefined)
    return `${shown.toLocaleString()} of ${total.toLocaleString()} ${rows(total)}`;
  return `${shown.toLocaleString()}${hasMore ? '+' : ''} ${rows(shown)}`;
};

interface HeadingProps<T> {
  readonly column: Column<T>;
  readonly sort: Sorting | undefined;
}

const Heading = <T,>({ column: { key, title, align, isSortable }, sort }: HeadingProps<T>) => {
  const isBy = sort?.by === key;
  const order = !isBy ? 'none' : sort.isDescending ? 'descending' : 'ascending';
  return (
    <div
      className="table-cell"
      role="columnheader"
      data-align={align}
      tabIndex={-1}
      aria-sort={isSortable === true && sort !== undefined ? order : undefined}
    >
      {title === '' ? (
        <span className="hidden-text">Actions</span>
      ) : isSortable === true && sort !== undefined ? (
        <button
          type="button"
          className="table-sort"
          onClick={() => sort.change(key, isBy && !sort.isDescending)}
        >
          {title}
          <span aria-hidden>{isBy ? (sort.isDescending ? ' ↓' : ' ↑') : ''}</span>
        </button>
      ) : (
        title
      )}
    </div>
  );
};
