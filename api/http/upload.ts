import type { Principal } from '../../application/core/commands/principal.ts';
import type { Exchange } from './exchange.ts';
import type { FormValues } from './form-body.ts';
import { readMultipart } from './multipart.ts';
import type { Upload, UploadRules } from './route.ts';

export interface ReadUpload {
  readonly file: Upload;
  readonly fields: FormValues;
  /** Identifies repetitions of an upload with the same key. */
  readonly sameAs: unknown;
  /** Called right before the handler. From then on the handler owns the file, and the pipeline does not delete it. */
  readonly take: () => void;
}

/**
 * Stores the file of a request and runs `work`; deletes the file if `work` ends without a call of `take`.
 * @param onLeft called when the file could not be deleted
 */
export const withUpload = async <T>(
  { request }: Exchange,
  rules: UploadRules<unknown>,
  uploadRequest: { readonly principal: Principal; readonly params: unknown },
  onLeft: (error: unknown) => void,
  work: (upload: ReadUpload) => Promise<T>,
): Promise<T> => {
  const drop = (id: string): Promise<void> => rules.drop(uploadRequest, id).catch(onLeft);
  const read = await readMultipart(
    request,
    rules,
    (source) => rules.receive(uploadRequest, source),
    ({ id }) => drop(id),
  );
  const { received, fields, filename, contentType } = read;
  const file: Upload = { ...received, filename, contentType };
  const sameAs = { fields, file: { filename, contentType, sha256: file.sha256 } };
  let taken = false;
  const take = (): void => {
    taken = true;
  };
  try {
    return await work({ file, fields, sameAs, take });
  } finally {
    if (!taken) await drop(file.id);
  }
};
