import type { EventFilter } from './event-store.ts';

/** A filter without its empty conditions; undefined selects everything. */
export interface Selection {
  readonly prefix: string | undefined;
  readonly types: ReadonlySet<string> | undefined;
}

/** Compiles a filter once per read. */
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
