import type { Readable } from 'node:stream';
import { DomainError, notFound } from '../../domain/core/errors.ts';
import { recordStream } from '../../domain/entities/record.ts';
import {
  type AttachedFile,
  attachFile,
  deleteFile,
  type FileFacts,
  FileUploaded,
  fileStream,
} from '../../domain/files/file.ts';
import { contentType, fileName } from '../../domain/files/filename.ts';
import type { Written } from '../core/commands/command.ts';
import type { RequestContext } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import { dataOf } from '../core/events/event-codec.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { BlobStore, ByteRange, StoredBlob } from '../ports/blob-store.ts';
import type { Ids } from '../ports/clock.ts';
import type { Position } from '../ports/event-store.ts';
import type { Logger } from '../ports/logger.ts';

/** An upload whose bytes are stored under the upload's id; name and type come from the client. */
interface UploadedBytes extends StoredBlob {
  readonly id: string;
  readonly filename: string | undefined;
  readonly contentType: string;
}

interface OpenFile {
  readonly file: AttachedFile;
  /** Opens the bytes or a part of them; the stream must be read or destroyed. */
  readonly bytes: (range?: ByteRange) => Promise<Readable>;
}

/**
 * Files attached to records. Bytes are stored before the event; `blob-sweep.ts` removes the bytes of uploads without an
 * event. A deletion appends its event before it removes the bytes; `file-removers.ts` completes it after a crash, and
 * deletes the files of deleted records.
 */
export class Files extends WithDeps<{
  readonly streams: Streams;
  readonly blobs: BlobStore;
  readonly ids: Ids;
  readonly logger: Logger;
}> {
  /** @throws `not_found` unless the tenant has this record of the entity */
  async checkRecord(tenantId: string, entityName: string, recordId: string): Promise<void> {
    if (!(await this.#isLive(tenantId, entityName, recordId))) throw notFound();
  }

  /** Stores the bytes of an upload; if the source fails, nothing is kept. */
  async receive(tenantId: string, source: Readable): Promise<StoredBlob & { readonly id: string }> {
    const id = this.deps.ids.next();
    return { id, ...(await this.deps.blobs.put({ tenantId, id }, source)) };
  }

  /** Removes the bytes of an upload that did not become a file. */
  drop(tenantId: string, uploadId: string): Promise<void> {
    return this.deps.blobs.delete({ tenantId, id: uploadId });
  }

  /**
   * Attaches an upload to a record.
   * @throws `not_found`, after removing the upload; `conflict` when the file was deleted meanwhile
   */
  async attach(
    tenantId: string,
    record: { readonly entityName: string; readonly id: string },
    upload: UploadedBytes,
    context: RequestContext,
  ): Promise<Written<{ file: FileFacts & { readonly createdAt: number } }>> {
    if (!(await this.#isLive(tenantId, record.entityName, record.id))) {
      await this.drop(tenantId, upload.id);
      throw notFound();
    }
    // A retried keyed request must find the file of its first try, so the file's id comes from the key.
    const id = context.priorAttempt === undefined ? upload.id : context.newId();
    if (id !== upload.id) await this.deps.blobs.move({ tenantId, id: upload.id }, id);
    const facts: FileFacts = {
      file_id: id,
      record_id: record.id,
      entity_name: record.entityName,
      filename: fileName(upload.filename),
      content_type: contentType(upload.contentType),
      size: upload.size,
      sha256: upload.sha256,
    };
    // On failure the event may still be stored, so the bytes stay for the sweep to decide.
    const { events, state, position } = await this.deps.streams
      .of(fileStream, tenantId, id)
      .execute(context, (current) => attachFile(current, facts));
    // The file was deleted between the tries, and this try has stored the file's bytes again.
    if (state.status === 'deleted') await this.deps.blobs.delete({ tenantId, id });
    const [event] = events;
    const uploaded = event === undefined ? undefined : dataOf(FileUploaded, event);
    if (event !== undefined && uploaded !== undefined) {
      return { file: { ...uploaded, createdAt: event.at }, position };
    }
    if (state.status === 'attached') return { file: state, position };
    throw new DomainError('conflict', 'The file was deleted in the meantime.');
  }

  /** @throws `not_found` */
  async open(tenantId: string, fileId: string): Promise<OpenFile> {
    const file = await this.#attached(tenantId, fileId);
    return {
      file,
      bytes: async (range) => {
        const blob = await this.deps.blobs.open({ tenantId, id: fileId }, range);
        // The file was deleted meanwhile, perhaps on another node, or the blob store does not belong to this log.
        if (blob === undefined) {
          await this.deps.streams.of(fileStream, tenantId, fileId).refresh();
          await this.#attached(tenantId, fileId);
          throw new Error(`the bytes of file ${fileId} are missing`);
        }
        if (blob.size === file.size) return blob.stream;
        blob.stream.destroy();
        throw new Error(`file ${fileId} has ${blob.size} bytes instead of ${file.size}`);
      },
    };
  }

  /** @throws `not_found` */
  async delete(tenantId: string, fileId: string, context: RequestContext): Promise<Position | undefined> {
    await this.#attached(tenantId, fileId);
    const { position } = await this.deps.streams
      .of(fileStream, tenantId, fileId)
      .execute({ cause: context.cause }, deleteFile);
    await this.deps.blobs.delete({ tenantId, id: fileId }).catch((error: unknown) => {
      const found = { err: error, file_id: fileId };
      this.deps.logger.warn(found, 'the bytes of a deleted file will be removed later');
    });
    return position;
  }

  /** A deleted record's files count as deleted before their own events are appended. */
  async #attached(tenantId: string, fileId: string): Promise<AttachedFile> {
    const file = this.deps.streams.of(fileStream, tenantId, fileId);
    const state = await file.loadWhere(({ status }) => status === 'attached');
    if (state.status !== 'attached') throw notFound();
    await this.checkRecord(tenantId, state.entity_name, state.record_id);
    return state;
  }

  async #isLive(tenantId: string, entityName: string, recordId: string): Promise<boolean> {
    const record = this.deps.streams.of(recordStream, tenantId, recordId);
    const state = await record.loadWhere(({ status }) => status === 'live');
    return state.status === 'live' && state.entityName === entityName;
  }
}
