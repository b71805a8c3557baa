import {
  type InfiniteData,
  type UseInfiniteQueryResult,
  type UseQueryResult,
  useInfiniteQuery,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import { useState } from 'react';
import type { Client } from '../../../client/src/index.ts';
import { useClient, useTenant } from './client.tsx';

/** A query key: the name of the resource, then the values it depends on. Actions invalidate by a prefix. */
export type Key = readonly [resource: string, ...parts: unknown[]];

export type Read<T> = UseQueryResult<T, Error>;

interface ReadOptions {
  /** Interval (ms) of repeated reads; `false`: reads are not repeated, as under impersonation. */
  readonly every?: number | false | undefined;
  /** For how long (ms) an answer counts as fresh when its page is opened again; default 5000. */
  readonly stale?: number | undefined;
  /** Default true. */
  readonly enabled?: boolean | undefined;
}

/** Under impersonation each request is recorded in the log, so reads are not repeated. */
const useInterval = (every: number | false): number | false =>
  useTenant()?.impersonatedBy === undefined ? every : false;

/**
 * Reads, and reads again when an action invalidates the key and after each interval `every`. A page that is opened or
 * gets the focus reads again if its answer is no longer fresh.
 */
export const useRead = <T>(
  key: Key,
  read: (client: Client, signal: AbortSignal) => Promise<T>,
  { every = false, stale = 5000, enabled = true }: ReadOptions = {},
): Read<T> => {
  const client = useClient();
  const interval = useInterval(every);
  return useQuery({
    queryKey: key,
    queryFn: ({ signal }) => read(client, signal),
    refetchInterval: interval,
    staleTime: stale,
    enabled,
  });
};

export interface PageOf<T> {
  readonly items: readonly T[];
  /** Reads the next page, once: later calls return the same page or error. Undefined at the end. */
  readonly next: (() => Promise<PageOf<T>>) | undefined;
}

export type Paged<T> = UseInfiniteQueryResult<InfiniteData<PageOf<T>>, Error>;

export const PAGE_SIZE = 100;
/** Lists with more pages than this are refetched only when invalidated, since a refetch can take hundreds of requests. */
const FEW_PAGES = 5;

/** Takes one page of a list. After a failed page the iterator has ended: only a refetch of the list reads on. */
const take = async <T>(items: AsyncIterator<T>, most: number): Promise<PageOf<T>> => {
  const taken: T[] = [];
  while (taken.length < most) {
    const next = await items.next();
    if (next.done === true) return { items: taken, next: undefined };
    taken.push(next.value);
  }
  let following: Promise<PageOf<T>> | undefined;
  return {
    items: taken,
    next: () => {
      following ??= take(items, most);
      return following;
    },
  };
};

interface PageOptions extends ReadOptions {
  readonly size?: number;
}

/**
 * Reads a list page by page, as `DataTable` scrolls.
 * @param list `client.items(path, …)` with `limit: size` in its query
 */
export const usePages = <T>(
  key: Key,
  list: (client: Client, size: number) => AsyncIterator<T>,
  { enabled = true, size = PAGE_SIZE, every = false, stale = 5000 }: PageOptions = {},
): Paged<T> => {
  const client = useClient();
  const queries = useQueryClient();
  const interval = useInterval(every);
  const queryKey = [...key, 'pages'];
  const isShort = ({ state }: { state: { data: InfiniteData<PageOf<T>> | undefined } }): boolean =>
    (state.data?.pages.length ?? 0) <= FEW_PAGES;
  // A long list that is opened again is read from its beginning.
  useState(() => {
    const kept = queries.getQueryData<InfiniteData<PageOf<T>>>(queryKey);
    if (kept !== undefined && kept.pages.length > FEW_PAGES) queries.removeQueries({ queryKey, exact: true });
  });
  return useInfiniteQuery({
    queryKey,
    initialPageParam: undefined as PageOf<T>['next'],
    queryFn: ({ pageParam: next }) => (next === undefined ? take(list(client, size), size) : next()),
    getNextPageParam: (last) => last.next,
    refetchInterval: (query) => (isShort(query) ? interval : false),
    refetchOnWindowFocus: isShort,
    staleTime: stale,
    enabled,
  });
};
