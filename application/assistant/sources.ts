import type { Values } from '../../domain/entities/fields.ts';
import { schemaStream } from '../../domain/entities/schema.ts';
import type { FileFacts } from '../../domain/files/file.ts';
import type { Streams } from '../core/commands/streams.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { BlobStore } from '../ports/blob-store.ts';
import { ATTACHMENT_REVISION, recordRevision, type SourceDocument } from './corpus.ts';
import { attachmentText } from './texts/attachment-text.ts';
import { recordText } from './texts/record-text.ts';

/** A record at one version. */
export interface RecordFacts {
  readonly id: string;
  readonly entityName: string;
  readonly values: Values;
  readonly version: number;
}

type Facts = Pick<FileFacts, 'file_id' | 'record_id' | 'filename' | 'content_type' | 'size'>;

/** Makes the corpus's documents from records and attachments. */
export class Sources extends WithDeps<{ readonly streams: Streams; readonly blobs: BlobStore }> {
  /** Undefined when the record's entity does not exist. */
  async record(tenantId: string, record: RecordFacts): Promise<SourceDocument | undefined> {
    const schema = await this.deps.streams.of(schemaStream, tenantId, record.entityName).load();
    if (!schema.state.exists) return undefined;
    return {
      kind: 'entity_record',
      id: record.id,
      parent: null,
      revision: recordRevision(record.version, schema.revision),
      ...recordText(schema.state, record.values),
    };
  }

  /** Undefined when the bytes are deleted: the attachment is being deleted. */
  async attachment(tenantId: string, file: Facts): Promise<SourceDocument | undefined> {
    const blob = await this.deps.blobs.open({ tenantId, id: file.file_id });
    if (blob === undefined) return undefined;
    return {
      kind: 'attachment',
      id: file.file_id,
      parent: file.record_id,
      revision: ATTACHMENT_REVISION,
      ...(await attachmentText(file, blob.stream)),
    };
  }
}
