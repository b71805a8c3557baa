import { create as attachment } from 'content-disposition';
import { z } from 'zod';
import type { ReadModels } from '../../../application/core/projections/read-models.ts';
import type { Files } from '../../../application/files/files.ts';
import { iso } from '../../../domain/core/projection.ts';
import { FALLBACK_TYPE, isActiveType } from '../../../domain/files/filename.ts';
import { checkQuota } from '../../../domain/tenancy/quotas.ts';
import { fileById, filesOf } from '../../../projections/files/files.ts';
import { usageOf } from '../../../projections/tenancy/usage.ts';
import { byteRange } from '../../http/byte-range.ts';
import type { Reply, Route } from '../../http/route.ts';
import { idParams, timestamp, uuid } from '../../http/schemas.ts';
import { found, gone, listReply, ok, one, pagedList, removal, shown } from '../replies.ts';
import { scopedRoute, tagged } from '../route-kinds.ts';

interface Deps {
  readonly files: Files;
  readonly readModels: ReadModels;
}

const BASE = '/api/v1/tenant';
const OF_RECORD = `${BASE}/entities/:name/records/:id/files`;

/** 25 MiB. */
export const FILE_LIMIT = 26_214_400;

const fileView = z
  .object({
    id: uuid,
    filename: z.string(),
    content_type: z.string(),
    size: z.int().meta({ description: 'Bytes.' }),
    sha256: z.string().meta({ description: 'Lower-case hex.' }),
    created_at: timestamp,
  })
  .meta({ id: 'FileAttachment' });

const recordParams = z.object({ name: z.string().max(63), id: uuid });

const viewOf = (file: z.output<typeof fileView>) => shown(fileView, file);

/** Maximum bytes of the uploads that this process receives, by tenant: the usage does not count their files yet. */
class ArrivingBytes {
  readonly #bytes = new Map<string, number>();

  of(tenantId: string): number {
    return this.#bytes.get(tenantId) ?? 0;
  }

  async during<T>(tenantId: string, bytes: number, work: () => Promise<T>): Promise<T> {
    this.#bytes.set(tenantId, this.of(tenantId) + bytes);
    try {
      return await work();
    } finally {
      const left = this.of(tenantId) - bytes;
      if (left === 0) this.#bytes.delete(tenantId);
      else this.#bytes.set(tenantId, left);
    }
  }
}

/** Files attached to records (decisions, section 6). */
export const fileRoutes = (deps: Deps): Route[] => {
  const { files } = deps;
  const reader = deps.readModels.reader('files');
  const usage = deps.readModels.reader('usage');
  const arriving = new ArrivingBytes();

  return tagged('Files', [
    scopedRoute({
      method: 'post',
      path: OF_RECORD,
      operationId: 'uploadFile',
      summary: 'Attach a file to a record',
      description:
        'Send `multipart/form-data` with the part `file`, at most 25 MiB. Text, CSV and Markdown files join ' +
        'the assistant’s corpus.',
      scope: 'files:write',
      params: recordParams,
      upload: {
        limit: FILE_LIMIT,
        admit: async ({ principal: { tenantId, rights }, params }) => {
          await files.checkRecord(tenantId, params.name, params.id);
          const { uploads } = await usageOf(usage, tenantId);
          const used = uploads + arriving.of(tenantId);
          checkQuota('uploads', rights.plan, { used, added: FILE_LIMIT });
        },
        receive: ({ principal: { tenantId } }, source) =>
          arriving.during(tenantId, FILE_LIMIT, () => files.receive(tenantId, source)),
        drop: ({ principal }, uploadId) => files.drop(principal.tenantId, uploadId),
      },
      responses: { 201: fileView },
      errors: ['conflict', 'quota_exceeded'],
      handle: async ({ principal, params, upload, context }) => {
        if (upload === undefined) throw new Error('an upload without a file');
        const record = { entityName: params.name, id: params.id };
        const { file, position } = await files.attach(principal.tenantId, record, upload, context);
        const body = viewOf({ ...file, id: file.file_id, created_at: iso(file.createdAt) });
        return { status: 201, body, position };
      },
    }),

    scopedRoute({
      ...pagedList(fileView),
      path: OF_RECORD,
      operationId: 'listFiles',
      summary: 'The files of a record, newest first',
      description: 'Names, sizes and hashes; `/files/{id}/content` has the bytes.',
      scope: 'files:read',
      params: recordParams,
      reads: ['files'],
      handle: ({ principal: { tenantId }, params, query }) =>
        listReply(
          query,
          async (page) => {
            await files.checkRecord(tenantId, params.name, params.id);
            return filesOf(reader, tenantId, params.id, page);
          },
          viewOf,
        ),
    }),

    scopedRoute({
      ...one('get', fileView, idParams),
      path: `${BASE}/files/:id`,
      operationId: 'getFile',
      summary: 'Name, type, size and digest of a file',
      description: 'The bytes are at `/content`.',
      scope: 'files:read',
      reads: ['files'],
      handle: async ({ principal: { tenantId }, params }) => {
        const file = found(await fileById(reader, tenantId, params.id));
        // The files of a deleted record are deleted a moment later.
        await files.checkRecord(tenantId, file.entity_name, file.record_id);
        return ok(viewOf(file));
      },
    }),

    scopedRoute({
      method: 'get',
      path: `${BASE}/files/:id/content`,
      operationId: 'downloadFile',
      summary: 'The bytes of a file, always as an attachment',
      description: 'Supports `Range` (206) and `If-None-Match` (304).',
      scope: 'files:read',
      params: idParams,
      responses: { 200: null, 206: null, 304: null },
      produces: 'application/octet-stream',
      handle: async ({ principal, params, headers }): Promise<Reply> => {
        const { file, bytes } = await files.open(principal.tenantId, params.id);
        const etag = `"${file.sha256}"`;
        const always = { ETag: etag, 'Accept-Ranges': 'bytes' };
        if (matches(headers['if-none-match'], etag)) return { status: 304, headers: always };
        const mayPart = headers['if-range'] === undefined || headers['if-range'] === etag;
        const range = mayPart ? byteRange(headers.range, file.size) : undefined;
        const length = range === undefined ? file.size : range.last - range.first + 1;
        return {
          status: range === undefined ? 200 : 206,
          headers: {
            ...always,
            'Content-Type': isActiveType(file.content_type) ? FALLBACK_TYPE : file.content_type,
            'Content-Length': String(length),
            'Content-Disposition': attachment(file.filename),
            'Content-Security-Policy': "sandbox; default-src 'none'",
            'Cross-Origin-Resource-Policy': 'same-origin',
            ...(range === undefined
              ? {}
              : { 'Content-Range': `bytes ${range.first}-${range.last}/${file.size}` }),
          },
          body: await bytes(range),
        };
      },
    }),

    scopedRoute({
      ...removal(idParams),
      path: `${BASE}/files/:id`,
      operationId: 'deleteFile',
      summary: 'Delete a file',
      description: 'The bytes are deleted, also from the assistant’s corpus.',
      scope: 'files:write',
      handle: async ({ principal, params, context }) =>
        gone(await files.delete(principal.tenantId, params.id, context)),
    }),
  ]);
};

const matches = (header: string | undefined, etag: string): boolean =>
  (header ?? '').split(',').some((each) => ['*', etag, `W/${etag}`].includes(each.trim()));
