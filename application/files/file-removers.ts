import { RecordDeleted, recordStream } from '../../domain/entities/record.ts';
import { deleteFile, FileDeleted, FileUploaded, fileStream } from '../../domain/files/file.ts';
import type { Streams } from '../core/commands/streams.ts';
import { dataOf, type LoggedEvent } from '../core/events/event-codec.ts';
import { causeOf } from '../core/subscriptions/caused-by.ts';
import type { Subscriber } from '../core/subscriptions/subscriber.ts';
import type { BlobStore } from '../ports/blob-store.ts';
import type { Position } from '../ports/event-store.ts';

/** Removes the bytes of deleted files, in case a request crashed or the deletion of a record deleted the file. */
export const blobRemover = (deps: { readonly blobs: BlobStore }): Subscriber => ({
  name: 'blob-remover',
  types: [FileDeleted.type],
  handle: async (event) => {
    const deleted = dataOf(FileDeleted, event);
    if (deleted !== undefined) await deps.blobs.delete({ tenantId: event.tenantId, id: deleted.file_id });
  },
});

/** Ids of files attached to a record up to `position`, possibly including deleted files. */
export type FilesOfRecord = (
  tenantId: string,
  recordId: string,
  position: Position,
) => Promise<readonly string[]>;

/** Deletes files of deleted records. A file uploaded after the deletion is deleted when its upload event is handled. */
export const recordFilesRemover = (deps: {
  readonly streams: Streams;
  readonly filesOfRecord: FilesOfRecord;
}): Subscriber => {
  const remove = (event: LoggedEvent, fileId: string) =>
    deps.streams
      .of(fileStream, event.tenantId, fileId)
      .execute({ cause: causeOf(event) }, (state) => (state.status === 'attached' ? deleteFile(state) : []));

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
      if (file === undefined) return;
      // Reads the store: a cached record may be older than the file.
      const { state } = await deps.streams.of(recordStream, event.tenantId, file.record_id).refresh();
      if (state.status === 'deleted') await remove(event, file.file_id);
    },
  };
};
