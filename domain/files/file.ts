import { z } from 'zod';
import { notFound } from '../core/errors.ts';
import { decided, defineEvent, type EventOf } from '../core/event.ts';
import { folded, type StreamType } from '../core/stream-type.ts';

/**
 * A file attached to a record (decisions, section 6). The stream holds the file's metadata; the blob store holds the
 * bytes under the same id. The bytes are written before the first event.
 */

// Events

const facts = z.object({
  file_id: z.string(),
  record_id: z.string(),
  entity_name: z.string(),
  filename: z.string(),
  /** `type/subtype` from the client, cleaned. */
  content_type: z.string(),
  /** Bytes. */
  size: z.number().int().nonnegative(),
  /** Lower-case hex. */
  sha256: z.string(),
});
export type FileFacts = z.output<typeof facts>;

export const FileUploaded = defineEvent('FileUploaded', facts);

/** Repeats the data of `FileUploaded`, so that followers need no look-up. */
export const FileDeleted = defineEvent('FileDeleted', facts);

export const fileEvents = [FileUploaded, FileDeleted] as const;
export type FileEvent = EventOf<(typeof fileEvents)[number]>;

// State

export interface AttachedFile extends FileFacts {
  readonly status: 'attached';
  /** ms */
  readonly createdAt: number;
}
type AnyFile = { readonly status: 'none' } | AttachedFile | { readonly status: 'deleted' };

export const fileStream: StreamType<AnyFile, FileEvent> = {
  category: 'file',
  stateVersion: 1,
  initial: { status: 'none' },
  evolve: folded({
    FileUploaded: (state, facts, { at }) =>
      state.status === 'none' ? { status: 'attached', ...facts, createdAt: at } : state,
    FileDeleted: () => ({ status: 'deleted' }),
  }),
};

// Decide

/** A repeated command gives no events. */
export const attachFile = (state: AnyFile, file: FileFacts): readonly FileEvent[] =>
  state.status === 'none' ? decided(FileUploaded, file) : [];

/** @throws `not_found` for an unknown or deleted file */
export const deleteFile = (state: AnyFile): readonly FileEvent[] => {
  if (state.status !== 'attached') throw notFound();
  const { status: _status, createdAt: _createdAt, ...data } = state;
  return decided(FileDeleted, data);
};
