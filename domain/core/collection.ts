import { type DocumentReader, type PageRequest, type Scalar, touch, touchExisting } from './projection.ts';

type Finder = Pick<DocumentReader, 'find'>;

/** Touches and queries of one collection of a read model. `D` is the type of all its documents. */
export const collection = <D extends object>(name: string) => {
  const change = (id: string, change: (document: D) => D) => touchExisting<D>(name, id, change);
  return {
    put: (id: string, document: D) => touch<D>(name, id, () => document),
    /** Changes a document only if it exists, like `merge`. */
    change,
    merge: (id: string, values: Partial<D>) => change(id, (document) => ({ ...document, ...values })),
    remove: (id: string) => touch<D>(name, id, () => undefined),
    get: (reader: Pick<DocumentReader, 'get'>, tenantId: string, id: string) =>
      reader.get<D>(name, tenantId, id),
    /** Reads pages of a whole index. */
    list: (index: string, order: 'asc' | 'desc') => (reader: Finder, tenantId: string, page: PageRequest) =>
      reader.find<D>(name, tenantId, { index, equals: [], order, ...page }),
    /** Reads pages of the documents with one value of an index. */
    listOf:
      (index: string, order: 'asc' | 'desc') =>
      (reader: Finder, tenantId: string, value: Scalar, page: PageRequest) =>
        reader.find<D>(name, tenantId, { index, equals: [value], order, ...page }),
  };
};

/** The index of lists by time of creation. */
export const byCreatedAt = { name: 'by_created_at', fields: ['created_at'] };
