import type { Readable } from 'node:stream';
import type { Decider } from '../domain/decider.ts';
import { type RecordState, recordDecider } from '../domain/entities/record.ts';
import { DomainError, notFound } from '../domain/errors.ts';
import {
  type AttachedFile,
  attachFile,
  deleteFile,
  type FileFacts,
  FileUploaded,
  fileDecider,
} from '../domain/files/file.ts';
import { contentType, fileName } from '../domain/files/filename.ts';
import { dataOf } from './codec.ts';
import type { CommandHandler } from './command-handler.ts';
import type { BlobStore, ByteRange, StoredBlob } from './ports/blob-store.ts';
import type { Ids } from './ports/clock.ts';
import type { Position } from './ports/event-store.ts';
import type { Logger } from './ports/logger.ts';
import type { RequestContext } from './request-context.ts';
import type { StreamStates } from './stream-states.ts';
import { streamName } from './streams.ts';

/** A file as the interface shows it (decisions, section 6). */
export interface FileView {
  readonly id: string;
  readonly filename: string;
  readonly content_type: string;
  readonly size: number;
  readonly sha256: string;
  readonly created_at: string;
}

/** An upload whose bytes are in the blob store under an id of their own; name and type are the client's words. */
export interface UploadedBytes extends StoredBlob {
  readonly id: string;
  readonly filename: string | undefined;
  readonly contentType: string;
}

export interface OpenFile {
  readonly file: AttachedFile;
  /** The bytes, or a part of them: to be read or destroyed. */
  readonly bytes: (range?: ByteRange) => Promise<Readable>;
}

const view = (facts: FileFacts, createdAt: number): FileView => ({
  id: facts.file_id,
  filename: facts.filename,
  content_type: facts.content_type,
  size: facts.size,
  sha256: facts.sha256,
  created_at: new Date(createdAt).toISOString(),
});

/**
 * Files attached to records. Bytes are on disk before the event that speaks of them; what a crash in between leaves is
 * swept up later (`blob-sweep.ts`). A deletion is an event first, then the bytes go; `file-removers.ts` make good what
 * a crash left, and take the files of a deleted record along.
 */
export class Files {
  readonly #commands: CommandHandler;
  readonly #states: StreamStates;
  readonly #blobs: BlobStore;
  readonly #ids: Ids;
  readonly #logger: Logger;

  constructor(deps: {
    commands: CommandHandler;
    states: StreamStates;
    blobs: BlobStore;
    ids: Ids;
    logger: Logger;
  }) {
    this.#commands = deps.commands;
    this.#states = deps.states;
    this.#blobs = deps.blobs;
    this.#ids = deps.ids;
    this.#logger = deps.logger;
  }

  /** @throws `not_found` unless the tenant has such a record of this entity */
  async checkRecord(tenantId: string, entityName: string, recordId: string): Promise<void> {
    if (!(await this.#isLive(tenantId, entityName, recordId))) throw notFound();
  }

  /** Takes the bytes of an upload in; nothing is left of a source that fails. */
  async receive(tenantId: string, source: Readable): Promise<StoredBlob & { readonly id: string }> {
    const id = this.#ids.next();
    return { id, ...(await this.#blobs.put({ tenantId, id }, source)) };
  }

  /** Removes the bytes of an upload that became no file. */
  drop(tenantId: string, uploadId: string): Promise<void> {
    return this.#blobs.delete({ tenantId, id: uploadId });
  }

  /**
   * Makes an upload a file of a record.
   * @throws `not_found`: the upload is dropped
   */
  async attach(
    tenantId: string,
    record: { readonly entityName: string; readonly id: string },
    upload: UploadedBytes,
    context: RequestContext,
  ): Promise<{ file: FileView; position: Position | undefined }> {
    if (!(await this.#isLive(tenantId, record.entityName, record.id))) {
      await this.drop(tenantId, upload.id);
      throw notFound();
    }
    // A keyed request that is tried again must find the file of its first try: the id is the key's, not the upload's.
    const id = context.again === undefined ? upload.id : context.newId();
    if (id !== upload.id) await this.#blobs.move({ tenantId, id: upload.id }, id);
    const facts: FileFacts = {
      file_id: id,
      record_id: record.id,
      entity_name: record.entityName,
      filename: fileName(upload.filename),
      content_type: contentType(upload.contentType),
      size: upload.size,
      sha256: upload.sha256,
    };
    // Should this fail, the event may be there all the same, and so the bytes stay: the sweep knows what to do.
    const { events, state, position } = await this.#commands.execute({
      tenantId,
      decider: fileDecider,
      id,
      cause: context.cause,
      again: context.again,
      decide: (current) => attachFile(current, facts),
    });
    // The first try's file was deleted before this one, which brought its bytes back.
    if (state.status === 'deleted') await this.#blobs.delete({ tenantId, id });
    const [event] = events;
    const uploaded = event === undefined ? undefined : dataOf(FileUploaded, event);
    if (event !== undefined && uploaded !== undefined) return { file: view(uploaded, event.at), position };
    if (state.status === 'attached') return { file: view(state, state.createdAt), position };
    throw new DomainError('conflict', 'The file was deleted meanwhile.');
  }

  /** @throws `not_found` */
  async open(tenantId: string, fileId: string): Promise<OpenFile> {
    const file = await this.#attached(tenantId, fileId);
    return {
      file,
      bytes: async (range) => {
        const blob = await this.#blobs.open({ tenantId, id: fileId }, range);
        // Deleted a moment ago, perhaps through another node, or the store is not the one that goes with the log.
        if (blob === undefined) {
          const stream = streamName(tenantId, fileDecider.category, fileId);
          await this.#states.refresh(stream, fileDecider);
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
    const { position } = await this.#commands.execute({
      tenantId,
      decider: fileDecider,
      id: fileId,
      cause: context.cause,
      decide: (state) => deleteFile(state),
    });
    await this.#blobs.delete({ tenantId, id: fileId }).catch((error: unknown) => {
      this.#logger.warn({ err: error, file_id: fileId }, 'the bytes of a deleted file will be removed later');
    });
    return position;
  }

  /** A file of a record that is gone is gone with it, also before its own deletion has been written. */
  async #attached(tenantId: string, fileId: string): Promise<AttachedFile> {
    const state = await this.#unless(({ status }) => status === 'attached', tenantId, fileDecider, fileId);
    if (state.status !== 'attached') throw notFound();
    await this.checkRecord(tenantId, state.entity_name, state.record_id);
    return state;
  }

  async #isLive(tenantId: string, entityName: string, recordId: string): Promise<boolean> {
    const isLive = (state: RecordState) => state.status === 'live';
    const state = await this.#unless(isLive, tenantId, recordDecider, recordId);
    return state.status === 'live' && state.entityName === entityName;
  }

  /** A state in memory that is no good is asked of the store: another node may have left it behind. */
  async #unless<S, E>(
    isGood: (state: S) => boolean,
    tenantId: string,
    decider: Decider<S, E>,
    id: string,
  ): Promise<S> {
    const { state } = await this.#states.load(tenantId, decider, id);
    if (isGood(state)) return state;
    // The stream's name says which decider folded it.
    return (await this.#states.refresh(streamName(tenantId, decider.category, id), decider)).state as S;
  }
}
