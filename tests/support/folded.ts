import type { Document, ProjectedEvent, Projection } from '../../domain/core/projection.ts';
import { BEGINNING } from './given.ts';

/** An event of a test's history; missing parts get defaults. */
export interface PastEvent {
  readonly type: string;
  readonly data: unknown;
  readonly at?: number;
  readonly tenantId?: string;
}

/** Folds a history in memory without failures. @returns the documents by `collection/tenant/id` */
export const folded = (projection: Projection, story: readonly PastEvent[]): Map<string, Document> => {
  const documents = new Map<string, Document>();
  let at = BEGINNING;
  story.forEach((past, revision) => {
    at = past.at ?? at + 1000;
    const event: ProjectedEvent = {
      type: past.type,
      data: past.data,
      id: `event-${revision}`,
      tenantId: past.tenantId ?? 'acme',
      stream: `${past.tenantId ?? 'acme'}.story-1`,
      revision,
      at,
      actor: { kind: 'user', id: 'ann' },
      impersonatedBy: undefined,
      position: String(revision).padStart(16, '0'),
    };
    for (const touch of projection.fold(event)) {
      const key = `${touch.collection}/${touch.tenantId ?? event.tenantId}/${touch.id}`;
      const before = documents.get(key);
      const after = touch.change(before === undefined ? undefined : deepFrozen(before));
      if (after === undefined) documents.delete(key);
      else documents.set(key, after);
    }
  });
  return documents;
};

/** Makes a touch fail when it changes the stored document instead of returning a new one. */
const deepFrozen = <T>(value: T): T => {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const each of Object.values(value)) deepFrozen(each);
  }
  return value;
};
