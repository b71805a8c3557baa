import { randomUUID } from 'node:crypto';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { z } from 'zod';
import type { HeadSigner } from '../../../application/audit/head-signer.ts';
import { NDJSON, wantsNdjson } from '../../http/ndjson.ts';
import type { Reply, Route } from '../../http/route.ts';
import { position, timestamp } from '../../http/schemas.ts';
import { download } from '../replies.ts';
import { adminRoute, tagged } from '../route-kinds.ts';

interface Deps {
  readonly auditSigner: HeadSigner;
}

const proof = z
  .object({
    tenant_id: z.string(),
    position,
    root: z.string().meta({
      description: 'SHA-256 over name, last revision and last hash of every stream, lower-case hex.',
    }),
    signed_at: timestamp,
    algorithm: z.literal('Ed25519'),
    public_key: z.string().meta({ description: 'Base64 of the DER form (SPKI).' }),
    signature: z.string().meta({ description: 'Base64.' }),
  })
  .meta({ id: 'AuditProof' });

/** The signed head of a tenant's streams (decisions, section 11; docs/audit-format.md). */
export const auditProofRoutes = (deps: Deps): Route[] =>
  tagged('Audit', [
    adminRoute({
      method: 'get',
      path: '/api/v1/tenant/audit/proof',
      operationId: 'getAuditProof',
      expensive: true,
      summary:
        'The current signed head of all streams; with `Accept: application/x-ndjson` also the last hash of each stream',
      description:
        'The proof covers the last hash of every stream. `npm run verify` checks an export against it ' +
        'without the server. `Accept: application/x-ndjson` also streams the hashes.',
      responses: { 200: proof },
      produces: NDJSON,
      errors: ['read_model_behind'],
      handle: async ({ principal: { tenantId }, headers }) =>
        wantsNdjson(headers.accept)
          ? withHeads(deps, tenantId)
          : { status: 200, body: await deps.auditSigner.proof(tenantId) },
    }),
  ]);

/**
 * Sends the head, then a line for each stream. The lines are kept in a file, because the head is computed last and
 * clients may be slow.
 */
const withHeads = async (deps: Deps, tenantId: string): Promise<Reply> => {
  const path = join(tmpdir(), `audit-heads-${randomUUID()}`);
  const file = await open(path, 'wx+', 0o600);
  try {
    const head = await deps.auditSigner.proof(tenantId, async (revisions) => {
      if (revisions.length > 0)
        await file.appendFile(revisions.map((one) => `${JSON.stringify(one)}\n`).join(''));
    });
    const body = Readable.from(spooled(`${JSON.stringify(head)}\n`, file), { objectMode: false });
    // Deletes the file however the answer ends, even if the file is never read.
    body.once('close', () => void dropped(file, path).catch(() => undefined));
    return download('proof.ndjson', NDJSON, body);
  } catch (error) {
    await dropped(file, path);
    throw error;
  }
};

async function* spooled(first: string, file: FileHandle): AsyncGenerator<string | Buffer> {
  yield first;
  yield* file.createReadStream({ start: 0, autoClose: false });
}

const dropped = async (file: FileHandle, path: string): Promise<void> => {
  await file.close();
  await rm(path, { force: true });
};
