import { PLATFORM } from './platform.ts';
import { type DocumentReader, type PageRequest, type Scalar, touch } from './projection.ts';

type Finder = Pick<DocumentReader, 'find'>;
type Getter = Pick<DocumentReader, 'get'>;

const touches = <D extends object>(name: string, tenantId?: string) => {
  const apply = (id: string, change: (document: D | undefined) => D | undefined) =>
    touch<D>(name, id, change, tenantId);
  const change = (id: string, change: (document: D) => D) =>
    apply(id, (document) => (document === undefined ? undefined : change(document)));
  return {
    /** Changes, creates or removes a document. */
    touch: apply,
    put: (id: string, document: D) => apply(id, () => document),
    /** Changes an existing document; does nothing for a missing one. `merge` does the same. */
    change,
    merge: (id: string, values: Partial<D>) => change(id, (document) => ({ ...document, ...values })),
    remove: (id: string) => apply(id, () => undefined),
  };
};

/** Touches and queries of one collection of a read model. `D` is the type of all its documents. */
export const collection = <D extends object>(name: string) => ({
  ...touches<D>(name),
  get: (reader: Getter, tenantId: string, id: string) => reader.get<D>(name, tenantId, id),
  /** Reads pages of a whole index. */
  list: (index: string, order: 'asc' | 'desc') => (reader: Finder, tenantId: string, page: PageRequest) =>
    reader.find<D>(name, tenantId, { index, equals: [], order, ...page }),
  /** Reads pages of the documents that have a given value in an index. */
  listOf:
    (index: string, order: 'asc' | 'desc') =>
    (reader: Finder, tenantId: string, value: Scalar, page: PageRequest) =>
      reader.find<D>(name, tenantId, { index, equals: [value], order, ...page }),
});

/** Like {@link collection}, but all documents are stored under the platform, even if events of tenants change them. */
export const platformCollection = <D extends object>(name: string) => {
  const { get, list, listOf } = collection<D>(name);
  return {
    ...touches<D>(name, PLATFORM),
    get: (reader: Getter, id: string) => get(reader, PLATFORM, id),
    list: (index: string, order: 'asc' | 'desc') => (reader: Finder, page: PageRequest) =>
      list(index, order)(reader, PLATFORM, page),
    listOf: (index: string, order: 'asc' | 'desc') => (reader: Finder, value: Scalar, page: PageRequest) =>
      listOf(index, order)(reader, PLATFORM, value, page),
  };
};

/** The index of lists by time of creation. */
export const byCreatedAt = { name: 'by_created_at', fields: ['created_at'] };
