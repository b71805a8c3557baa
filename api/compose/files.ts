import { dataOf, type EventCodec } from '../../application/codec.ts';
import { Files } from '../../application/files.ts';
import type { EventStore, Position } from '../../application/ports/event-store.ts';
import type { ReadModels } from '../../application/read-models.ts';
import { tenantPrefix } from '../../application/streams.ts';
import type { Subscriber } from '../../application/subscriber.ts';
import {
  blobRemover,
  type FilesOfRecord,
  recordFilesRemover,
} from '../../application/subscribers/file-removers.ts';
import { DomainError } from '../../domain/errors.ts';
import { FileUploaded, fileDecider } from '../../domain/files/file.ts';
import type { DocumentReader, PageEnd } from '../../domain/projection.ts';
import { filesOf } from '../../projections/files.ts';
import type { Core } from './core.ts';

/** Files attached to records. */
export interface FilesArea {
  readonly files: Files;
}

export const composeFiles = ({ commands, states, stores, ids, logger }: Core): FilesArea => ({
  files: new Files({ commands, states, blobs: stores.blobs, ids, logger }),
});

export const fileSubscribers = (core: Core): readonly Subscriber[] => [
  blobRemover({ blobs: core.stores.blobs }),
  recordFilesRemover({ ...core, filesOfRecord: filesOfRecord(core) }),
];

interface Sources {
  readonly readModels: Pick<ReadModels, 'waitFor'> & {
    reader(projection: string): Pick<DocumentReader, 'find'>;
  };
  readonly stores: { readonly events: Pick<EventStore, 'readAll'> };
  readonly codec: Pick<EventCodec, 'decode'>;
}

/** By the read model, once it has come to the position; where it does not come there, by the log. */
export const filesOfRecord = (core: Sources): FilesOfRecord => {
  const { readModels } = core;
  const reader = readModels.reader('files');
  return async (tenantId, recordId, position) => {
    try {
      await readModels.waitFor(tenantId, ['files'], position);
    } catch (error) {
      if (error instanceof DomainError && error.code === 'read_model_behind')
        return inLog(core, tenantId, recordId, position);
      throw error;
    }
    const found: string[] = [];
    let after: PageEnd | undefined;
    do {
      const page = await filesOf(reader, tenantId, recordId, { limit: 200, after });
      found.push(...page.docs.map(({ id }) => id));
      after = page.next;
    } while (after !== undefined);
    return found;
  };
};

const PAGE = 1000;

/** Slow, and always right: a poison event elsewhere in the tenant must not keep its deleted files. */
const inLog = async (
  { stores, codec }: Sources,
  tenantId: string,
  recordId: string,
  until: Position,
): Promise<readonly string[]> => {
  const filter = {
    streamPrefix: `${tenantPrefix(tenantId)}${fileDecider.category}-`,
    types: [FileUploaded.type],
  };
  const found: string[] = [];
  for (let from: Position | undefined; ; ) {
    const page = await stores.events.readAll({ from, filter, limit: PAGE });
    for (const stored of page) {
      if (stored.position > until) return found;
      const file = dataOf(FileUploaded, codec.decode(stored));
      if (file?.record_id === recordId) found.push(file.file_id);
    }
    from = page.at(-1)?.position;
    if (from === undefined || page.length < PAGE) return found;
  }
};
