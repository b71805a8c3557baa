import { Download, Trash2, Upload } from 'lucide-react';
import { useId, useState } from 'react';
import type { components } from '../../../../client/src/index.ts';
import {
  Button,
  ConfirmButton,
  Copy,
  Failed,
  Pending,
  Problem,
  saveFile,
  Time,
  toast,
  useAction,
  useClient,
  usePages,
} from '../../kit/index.ts';
import { problemText } from '../../kit/problem.tsx';

type Attachment = components['schemas']['FileAttachment'];

const sizeText = (bytes: number): string => {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1e6) return `${(bytes / 1e3).toFixed(1)} kB`;
  return `${(bytes / 1e6).toFixed(1)} MB`;
};

/** The files of a record: add, save, delete. */
export const Files = ({ name, id }: { name: string; id: string }) => {
  const path = { name, id };
  const files = usePages(['files', name, id], (client, limit) =>
    client.items('/api/v1/tenant/entities/{name}/records/{id}/files', { params: { path, query: { limit } } }),
  );
  const upload = useAction(
    (client, file: File) => {
      const form = new FormData();
      form.append('file', file, file.name);
      return client.post('/api/v1/tenant/entities/{name}/records/{id}/files', {
        params: { path },
        body: { file: file.name },
        bodySerializer: () => form,
      });
    },
    { invalidates: [['files', name, id]], done: ({ filename }) => `${filename} was added.` },
  );
  const field = useId();
  const items = files.data?.pages.flatMap((page) => page.items);
  return (
    <div className="stack">
      <div className="row">
        <label htmlFor={field} className="button button-plain" data-busy={upload.isPending}>
          <Upload size={15} aria-hidden />
          {upload.isPending ? 'Sending…' : 'Add a file'}
        </label>
        <input
          id={field}
          type="file"
          className="hidden-text"
          disabled={upload.isPending}
          onChange={({ target }) => {
            const [file] = target.files ?? [];
            // The error is shown below.
            if (file !== undefined) upload.mutateAsync(file).catch(() => undefined);
            target.value = '';
          }}
        />
        <span className="small muted">at most 25 MiB</span>
      </div>
      {upload.error === null ? null : <Problem error={upload.error} />}
      {items === undefined ? <Pending of={files} what="the files" /> : <Failed of={files} />}
      {items?.length === 0 ? <p className="muted">No file yet.</p> : null}
      <ul className="files">
        {items?.map((file) => (
          <FileRow key={file.id} file={file} of={path} />
        ))}
      </ul>
      {files.hasNextPage ? (
        <div>
          <Button onClick={() => void files.fetchNextPage()}>More files</Button>
        </div>
      ) : null}
    </div>
  );
};

const FileRow = ({ file, of: { name, id } }: { file: Attachment; of: { name: string; id: string } }) => {
  const client = useClient();
  const [isSaving, setSaving] = useState(false);
  const params = { path: { id: file.id } };
  const remove = useAction((own) => own.delete('/api/v1/tenant/files/{id}', { params }), {
    invalidates: [['files', name, id]],
    done: `${file.filename} was deleted.`,
  });
  const save = async (): Promise<void> => {
    setSaving(true);
    try {
      const bytes = await client.stream('/api/v1/tenant/files/{id}/content', { params });
      // Saved and never shown in the page, since the content type of an uploaded file is not trusted.
      const blob = await new Response(bytes, {
        headers: { 'content-type': 'application/octet-stream' },
      }).blob();
      saveFile(blob, file.filename);
    } catch (error) {
      toast(problemText(error), 'danger');
    } finally {
      setSaving(false);
    }
  };
  return (
    <li>
      <span>
        <strong>{file.filename}</strong>{' '}
        <span className="small muted">
          {sizeText(file.size)}, {file.content_type}, <Time at={file.created_at} relative />
        </span>
        <span className="small muted">
          SHA-256 <code>{file.sha256.slice(0, 16)}…</code>
          <Copy text={file.sha256} label={`Copy the SHA-256 of ${file.filename}`} />
        </span>
      </span>
      <span className="row">
        <Button
          size="small"
          onClick={() => void save()}
          disabled={isSaving}
          aria-label={`Save ${file.filename}`}
        >
          <Download size={14} aria-hidden />
          {isSaving ? 'Reading…' : 'Save'}
        </Button>
        <ConfirmButton
          size="small"
          aria-label={`Delete ${file.filename}`}
          ask={{
            title: `Delete ${file.filename}?`,
            consequence:
              'Its content is deleted and cannot be restored. The log still shows that the file existed.',
            action: 'Delete file',
            run: () => remove.mutateAsync(),
          }}
        >
          <Trash2 size={14} aria-hidden />
          Delete
        </ConfirmButton>
      </span>
    </li>
  );
};
