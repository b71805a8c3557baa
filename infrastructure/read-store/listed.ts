import type { ListedDoc, StoredDoc } from '../../application/ports/read-store.ts';

/** A document as checks read it: a damaged one is listed without its value, and does not stop the list. */
export function listed(
  { tenant, id }: Pick<ListedDoc, 'tenant' | 'id'>,
  read: () => StoredDoc | undefined,
  isIndexed: (doc: StoredDoc) => boolean,
): ListedDoc {
  const doc = unlessDamaged(read);
  // A damaged document may have values that cannot be indexed.
  return { tenant, id, doc, isIndexed: doc !== undefined && unlessDamaged(() => isIndexed(doc)) === true };
}

function unlessDamaged<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
