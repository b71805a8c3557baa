/** One place at which two JSON values differ. */
export interface Difference {
  /** Names, ids and indexes joined by dots; empty for the values themselves. */
  readonly path: string;
  /** Undefined when the value did not exist. */
  readonly before: unknown;
  readonly after: unknown;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

/** Items with an `id`, `key` or `code` are compared by it, so that an insertion differs in one item only. */
const keyed = (list: readonly unknown[]): ReadonlyMap<string, unknown> =>
  new Map(
    list.map((item, at) => {
      const id = isObject(item) ? (item.id ?? item.key ?? item.code) : undefined;
      return [typeof id === 'string' ? id : String(at), item];
    }),
  );

const partsOf = (value: Readonly<Record<string, unknown>>): ReadonlyMap<string, unknown> =>
  Array.isArray(value) ? keyed(value) : new Map(Object.entries(value));

/** The differences between two JSON values, in the order of `after`; removed members come last. */
export const differences = (before: unknown, after: unknown, path = ''): readonly Difference[] => {
  if (Object.is(before, after)) return [];
  if (!isObject(before) || !isObject(after) || Array.isArray(before) !== Array.isArray(after)) {
    return [{ path, before, after }];
  }
  const [old, next] = [partsOf(before), partsOf(after)];
  const names = [...next.keys(), ...[...old.keys()].filter((name) => !next.has(name))];
  return names.flatMap((name) =>
    differences(old.get(name), next.get(name), path === '' ? name : `${path}.${name}`),
  );
};
