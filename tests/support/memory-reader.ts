import type {
  Document,
  DocumentReader,
  Page,
  PageQuery,
  ProjectedEvent,
  Projection,
  Scalar,
} from '../../domain/core/projection.ts';

/** A read model folded in memory, with the queries of a store. */
export const memoryReadModel = (projection: Projection) => {
  const documents = new Map<string, Map<string, Document>>();
  const of = (collection: string, tenantId: string): Map<string, Document> => {
    const key = `${collection}/${tenantId}`;
    const found = documents.get(key) ?? new Map<string, Document>();
    documents.set(key, found);
    return found;
  };

  const fold = (event: ProjectedEvent): void => {
    for (const touch of projection.fold(event)) {
      const collection = of(touch.collection, touch.tenantId ?? event.tenantId);
      const before = collection.get(touch.id);
      const after = touch.change(before === undefined ? undefined : Object.freeze(before));
      if (after === undefined) collection.delete(touch.id);
      else collection.set(touch.id, after);
    }
  };

  const rows = (collection: string, tenantId: string, index: string) => {
    const spec = projection.collections
      .find(({ name }) => name === collection)
      ?.indexes.find(({ name }) => name === index);
    const { fields, present } = spec ?? {};
    if (fields === undefined) throw new Error(`no index ${index} of ${collection}`);
    const all = [...of(collection, tenantId)];
    const indexed = present === undefined ? all : all.filter(([, doc]) => (doc[present] ?? null) !== null);
    return indexed.flatMap(([id, doc]) =>
      fields
        .map((field): readonly Scalar[] => {
          const value = doc[field];
          return Array.isArray(value) ? value : [(value ?? null) as Scalar];
        })
        .reduce<readonly (readonly Scalar[])[]>(
          (all, values) => all.flatMap((row) => values.map((value) => [...row, value])),
          [[]],
        )
        .map((values) => ({ id, doc, values })),
    );
  };

  const hits = (collection: string, tenantId: string, query: PageQuery) => {
    const { equals = [], range = {}, order, after } = query;
    const sign = order === 'desc' ? -1 : 1;
    return rows(collection, tenantId, query.index)
      .filter(({ values }) => equals.every((value, nth) => values[nth] === value))
      .filter(({ values }) => {
        const next = values[equals.length] ?? null;
        return (
          (range.gt === undefined || compare(next, range.gt) > 0) &&
          (range.gte === undefined || compare(next, range.gte) >= 0) &&
          (range.lt === undefined || compare(next, range.lt) < 0) &&
          (range.lte === undefined || compare(next, range.lte) <= 0)
        );
      })
      .map(({ id, doc, values }) => ({ doc, end: { values: values.slice(equals.length), id } }))
      .sort((a, b) => sign * compareEnds(a.end, b.end))
      .filter(({ end }) => after === undefined || sign * compareEnds(end, after) > 0);
  };

  const find = async <D>(collection: string, tenantId: string, query: PageQuery): Promise<Page<D>> => {
    const found = hits(collection, tenantId, query);
    const page = found.slice(0, query.limit);
    const next = found.length > query.limit ? page.at(-1)?.end : undefined;
    // A collection contains only documents of its projection.
    return { docs: page.map(({ doc }) => doc as D), ...(next === undefined ? {} : { next }) };
  };

  const none = (): never => {
    throw new Error('not searchable');
  };
  const reader: DocumentReader = {
    get: async <D>(collection: string, tenantId: string, id: string) =>
      of(collection, tenantId).get(id) as D | undefined,
    find,
    entries: async (collection, tenantId, query) =>
      hits(collection, tenantId, query)
        .slice(0, query.limit)
        .map(({ end }) => end),
    findAll: (tenantId, queries) =>
      Promise.all(
        queries.map(async (query) => {
          const all = { ...query, limit: Number.MAX_SAFE_INTEGER };
          return (await find<Document>(query.collection, tenantId, all)).docs;
        }),
      ),
    search: none,
    ids: none,
    count: none,
  };
  return { fold, reader, documents: of };
};

const rank = (value: Scalar): number =>
  value === null ? 0 : typeof value === 'boolean' ? 1 : typeof value === 'number' ? 2 : 3;

const compare = (a: Scalar, b: Scalar): number => {
  if (rank(a) !== rank(b)) return rank(a) - rank(b);
  if (a === b) return 0;
  return a !== null && b !== null && a < b ? -1 : 1;
};

const compareEnds = (
  a: { readonly values: readonly Scalar[]; readonly id: string },
  b: { readonly values: readonly Scalar[]; readonly id: string },
): number => {
  for (const [nth, value] of a.values.entries()) {
    const order = compare(value, b.values[nth] ?? null);
    if (order !== 0) return order;
  }
  return compare(a.id, b.id);
};
