import { collection } from '../../domain/core/collection.ts';
import { iso, projection } from '../../domain/core/projection.ts';
import type { FileEvent, FileFacts } from '../../domain/files/file.ts';

/** The files of each record (decisions, section 6). */

interface FileDoc extends Omit<FileFacts, 'file_id'> {
  readonly id: string;
  readonly created_at: string;
}

const files = collection<FileDoc>('files');

export const filesProjection = projection<FileEvent>({
  name: 'files',
  version: 1,
  collections: [{ name: 'files', indexes: [{ name: 'by_record', fields: ['record_id', 'created_at'] }] }],
  on: {
    FileUploaded: ({ data: { file_id: id, ...facts }, at }) => [
      files.put(id, { id, ...facts, created_at: iso(at) }),
    ],
    FileDeleted: ({ data }) => [files.remove(data.file_id)],
  },
});

// Queries

/** The files of a record, newest first. */
export const filesOf = files.listOf('by_record', 'desc');

/** All files of a tenant, by record. */
export const allFilesOf = files.list('by_record', 'asc');

export const fileById = files.get;
