import type { EventFilter } from './event-store.ts';

/** A filter with its empty conditions taken away; undefined means "everything". */
export interface Selection {
  readonly prefix: string | undefined;
  readonly types: ReadonlySet<string> | undefined;
}

/** Compiles a port filter once per read, so that the scan does not ask again for every event. */
export function select(filter: EventFilter | undefined): Selection | undefined {
  const prefix = filter?.streamPrefix || undefined;
  const types = filter?.types?.length ? new Set(filter.types) : undefined;
  return prefix === undefined && types === undefined ? undefined : { prefix, types };
}

export function matches(
  selection: Selection | undefined,
  event: { readonly stream: string; readonly type: string },
): boolean {
  if (selection === undefined) return true;
  const { prefix, types } = selection;
  return (types === undefined || types.has(event.type)) && (!prefix || event.stream.startsWith(prefix));
}
