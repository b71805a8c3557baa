import { z } from 'zod';
import type { Assistant } from '../../../application/assistant/assistant.ts';
import type { Backfills } from '../../../application/assistant/backfill.ts';
import { SOURCE_KINDS } from '../../../application/ports/corpus-store.ts';
import { listOf } from '../../../domain/core/list-schema.ts';
import type { Route } from '../../http/route.ts';
import { text } from '../../http/schemas.ts';
import { personRoute, tagged } from '../route-kinds.ts';

interface Deps {
  readonly assistant: Assistant;
  readonly backfills: Backfills;
}

/** Questions to the assistant, and its corpus (specification, Assistant; decisions, section 7). */

const BASE = '/api/v1/tenant';
const MAX_QUESTION = 4000;
const MAX_HISTORY = 50;

const answer = z
  .object({
    reply: z.string(),
    /** Best first. */
    retrieved_chunks: z.array(
      z.object({
        source_kind: z.enum(SOURCE_KINDS),
        source_id: z.string(),
        score: z.number().min(0).max(1),
      }),
    ),
  })
  .meta({ id: 'AssistantAnswer' });

export const assistantRoutes = (deps: Deps): Route[] =>
  tagged(
    'Assistant',
    [
      personRoute({
        method: 'post',
        path: `${BASE}/ai/assistant/ask`,
        operationId: 'askAssistant',
        summary: 'Ask a question about the tenant’s records and attachments',
        body: z.object({
          message: text({ max: MAX_QUESTION }),
          history: listOf(z.object({ role: z.enum(['user', 'assistant']), content: z.string() }), {
            max: MAX_HISTORY,
          }).default([]),
        }),
        responses: { 200: answer },
        errors: ['assistant_upstream_unexpected', 'embedding_model_unavailable'],
        handle: async ({ principal: { tenantId }, body, context }) => {
          const { reply, passages, position } = await deps.assistant.ask(tenantId, body, context);
          const chunks = passages.map(({ kind, id, score }) => ({ source_kind: kind, source_id: id, score }));
          return { status: 200, body: { reply, retrieved_chunks: chunks }, position };
        },
      }),

      personRoute({
        method: 'post',
        path: `${BASE}/rag/backfill`,
        operationId: 'backfillCorpus',
        expensive: true,
        summary: 'Bring every record and text attachment into the assistant’s corpus',
        responses: {
          200: z
            .object({ added: z.number().int(), updated: z.number().int(), skipped: z.number().int() })
            .meta({ id: 'BackfillCounts', description: 'Sources, by what was done with them.' }),
        },
        errors: ['embedding_model_unavailable'],
        handle: async ({ principal }) => ({
          status: 200,
          body: await deps.backfills.run(principal.tenantId),
        }),
      }),
    ],
    { entitlement: 'assistant' },
  );
