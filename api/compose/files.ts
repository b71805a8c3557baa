import { dataOf, type EventCodec } from '../../application/core/events/event-codec.ts';
import { logPages } from '../../application/core/events/log-pages.ts';
import { tenantPrefix } from '../../application/core/events/stream-name.ts';
import type { ReadModels } from '../../application/core/projections/read-models.ts';
import { runBlobSweeps } from '../../application/files/blob-sweep.ts';
import {
  blobRemover,
  type FilesOfRecord,
  recordFilesRemover,
} from '../../application/files/file-removers.ts';
import { Files } from '../../application/files/files.ts';
import type { EventStore, Position } from '../../application/ports/event-store.ts';
import { isRefusal } from '../../domain/core/errors.ts';
import { type DocumentReader, every } from '../../domain/core/projection.ts';
import { FileUploaded, fileStream } from '../../domain/files/file.ts';
import { filesOf } from '../../projections/files/files.ts';
import { fileRoutes } from '../routes/files/files.ts';
import type { Area } from './area.ts';
import type { Core } from './core.ts';

/** Files attached to records. */
export const composeFiles = (core: Core): Area => {
  const deps = { ...core, blobs: core.stores.blobs };
  const files = new Files(deps);
  return {
    routes: fileRoutes({ ...deps, files }),
    subscribers: [blobRemover(deps), recordFilesRemover({ ...core, filesOfRecord: filesOfRecord(core) })],
    background: (_lease, signal) => runBlobSweeps(deps, signal),
  };
};

interface Sources {
  readonly readModels: Pick<ReadModels, 'waitFor'> & {
    reader(projection: string): Pick<DocumentReader, 'find'>;
  };
  readonly stores: { readonly events: Pick<EventStore, 'readAll'> };
  readonly codec: Pick<EventCodec, 'decode'>;
}

/** Finds a record's files in the read model; if the read model does not reach the position in time, in the log. */
export const filesOfRecord = (core: Sources): FilesOfRecord => {
  const { readModels } = core;
  const reader = readModels.reader('files');
  return async (tenantId, recordId, position) => {
    try {
      await readModels.waitFor(tenantId, ['files'], position);
    } catch (error) {
      if (!isRefusal(error, 'read_model_behind')) throw error;
      return inLog(core, tenantId, recordId, position);
    }
    return Array.fromAsync(
      every((page) => filesOf(reader, tenantId, recordId, page)),
      ({ id }) => id,
    );
  };
};

const PAGE = 1000;

/** Scans the log: slow, but a poison event elsewhere in the tenant cannot hide a deleted record's files. */
const inLog = async (
  { stores, codec }: Sources,
  tenantId: string,
  recordId: string,
  until: Position,
): Promise<readonly string[]> => {
  const filter = {
    streamPrefix: `${tenantPrefix(tenantId)}${fileStream.category}-`,
    types: [FileUploaded.type],
  };
  const found: string[] = [];
  for await (const page of logPages(stores.events, { filter, until, limit: PAGE })) {
    for (const stored of page) {
      const file = dataOf(FileUploaded, codec.decode(stored));
      if (file?.record_id === recordId) found.push(file.file_id);
    }
  }
  return found;
};
