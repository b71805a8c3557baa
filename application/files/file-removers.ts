import { RecordDeleted, recordStream } from '../../domain/entities/record.ts';
import { deleteFile, FileDeleted, FileUploaded, fileStream } from '../../domain/files/file.ts';
import type { Streams } from '../core/commands/streams.ts';
import { dataOf, type LoggedEvent } from '../core/events/event-codec.ts';
import type { Subscriber } from '../core/subscriptions/subscriber.ts';
import type { BlobStore } from '../ports/blob-store.ts';
import type { Position } from '../ports/event-store.ts';

/**
 * Removes the bytes of deleted files. The request that deletes does so itself; this makes good what a crash in between
 * left, and does it for files that went with their record.
 */
export const blobRemover = (deps: { readonly blobs: BlobStore }): Subscriber => ({
  name: 'blob-remover',
  types: [FileDeleted.type],
  handle: async (event) => {
    const deleted = dataOf(FileDeleted, event);
    if (deleted !== undefined) await deps.blobs.delete({ tenantId: event.tenantId, id: deleted.file_id });
  },
});

/** Ids of the files of a record that were attached up to `position`; one that is gone already may be among them. */
export type FilesOfRecord = (
  tenantId: string,
  recordId: string,
  position: Position,
) => Promise<readonly string[]>;

/**
 * Deletes the files of deleted records. Those that the record had are known by then; one whose upload was under way
 * comes later in the log, and is looked at by itself.
 */
export const recordFilesRemover = (deps: {
  readonly streams: Streams;
  readonly filesOfRecord: FilesOfRecord;
}): Subscriber => {
  const remove = (event: LoggedEvent, fileId: string) =>
    deps.streams.of(fileStream, event.tenantId, fileId).execute(
      {
        cause: {
          actor: event.actor,
          impersonatedBy: event.impersonatedBy,
          correlationId: event.correlationId,
          causationId: event.id,
        },
      },
      (state) => (state.status === 'attached' ? deleteFile(state) : []),
    );

  /** From the log itself: what this node remembers of the record may be older than the file. */
  const isGone = async (tenantId: string, recordId: string): Promise<boolean> => {
    await deps.streams.of(recordStream, tenantId, recordId).refresh();
    return (await deps.streams.of(recordStream, tenantId, recordId).load()).state.status === 'deleted';
  };

  return {
    name: 'record-files-remover',
    types: [RecordDeleted.type, FileUploaded.type],
    handle: async (event) => {
      const record = dataOf(RecordDeleted, event);
      if (record !== undefined) {
        const files = await deps.filesOfRecord(event.tenantId, record.record_id, event.position);
        for (const fileId of files) await remove(event, fileId);
      }
      const file = dataOf(FileUploaded, event);
      if (file !== undefined && (await isGone(event.tenantId, file.record_id))) {
        await remove(event, file.file_id);
      }
    },
  };
};
