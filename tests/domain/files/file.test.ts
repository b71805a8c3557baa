import { attachFile, deleteFile, type FileFacts, fileStream } from '../../../domain/files/file.ts';
import { given } from '../../support/given.ts';

const facts: FileFacts = {
  file_id: 'f1',
  record_id: 'r1',
  entity_name: 'invoice',
  filename: 'a.txt',
  content_type: 'text/plain',
  size: 3,
  sha256: 'aa',
};
const uploaded = { type: 'FileUploaded' as const, data: facts };
const deleted = { type: 'FileDeleted' as const, data: facts };

describe('A file', () => {
  it('is attached once', () => {
    const when = given(fileStream).when((state) => attachFile(state, facts));
    when.gives(uploaded);
    when.thenAgainNothing();
  });

  it('keeps the facts of its upload', () => {
    given(fileStream, uploaded)
      .when((state) => attachFile(state, { ...facts, filename: 'other' }))
      .givesNothing();
    given(fileStream, uploaded, { type: 'FileUploaded', data: { ...facts, filename: 'other' } })
      .when((state) => deleteFile(state))
      .gives(deleted);
  });

  it('has the same facts in the event of its deletion', () => {
    given(fileStream, uploaded)
      .when((state) => deleteFile(state))
      .gives(deleted);
  });

  it('does not exist before its upload and after its deletion', () => {
    given(fileStream)
      .when((state) => deleteFile(state))
      .isRefused('not_found');
    given(fileStream, uploaded, deleted)
      .when((state) => deleteFile(state))
      .isRefused('not_found');
  });

  it('cannot be restored', () => {
    given(fileStream, uploaded, deleted)
      .when((state) => attachFile(state, facts))
      .givesNothing();
  });
});
