import { z } from 'zod';
import type { Assistant } from '../../../application/assistant/assistant.ts';
import type { Backfills } from '../../../application/assistant/backfill.ts';
import type { CitedPassage } from '../../../application/assistant/retrieval.ts';
import { SOURCE_KINDS } from '../../../application/ports/corpus-store.ts';
import { listOf } from '../../../domain/core/list-schema.ts';
import type { Route } from '../../http/route.ts';
import { text } from '../../http/schemas.ts';
import { ok } from '../replies.ts';
import { personRoute, tagged } from '../route-kinds.ts';

interface Deps {
  readonly assistant: Assistant;
  readonly backfills: Backfills;
}

const BASE = '/api/v1/tenant';
const MAX_QUESTION = 4000;
const MAX_HISTORY = 50;

/** Maximum code points of an excerpt. */
const EXCERPT = 240;

const excerptOf = (texts: readonly string[]): string => {
  const points = [
    ...texts
      .join('\n')
      .slice(0, 4 * EXCERPT)
      .toWellFormed()
      .replace(/\s+/g, ' ')
      .trim(),
  ];
  return points.length <= EXCERPT ? points.join('') : `${points.slice(0, EXCERPT - 1).join('')}…`;
};

const citation = ({ kind, id, score, entityName, recordId, title, texts }: CitedPassage) => ({
  source_kind: kind,
  source_id: id,
  score,
  entity_name: entityName,
  record_id: recordId,
  title,
  excerpt: excerptOf(texts),
});

const answer = z
  .object({
    reply: z.string(),
    /** Best first. */
    retrieved_chunks: z.array(
      z.object({
        source_kind: z.enum(SOURCE_KINDS),
        source_id: z.string(),
        score: z.number().min(0).max(1),
        entity_name: z
          .string()
          .meta({ description: 'The entity of the record; for an attachment, the entity of its record.' }),
        record_id: z
          .string()
          .meta({ description: 'The record to link to: the source itself or the record of the attachment.' }),
        title: z.string().meta({ description: 'The entity and the record’s name, or the name of the file.' }),
        excerpt: z.string().meta({ description: `The passage’s beginning, at most ${EXCERPT} characters.` }),
      }),
    ),
  })
  .meta({ id: 'AssistantAnswer' });

/** Questions to the assistant, and its corpus (specification, Assistant; decisions, section 7). */
export const assistantRoutes = (deps: Deps): Route[] =>
  tagged(
    'Assistant',
    [
      personRoute({
        method: 'post',
        path: `${BASE}/ai/assistant/ask`,
        operationId: 'askAssistant',
        summary: 'Ask a question about the tenant’s records and attachments',
        description:
          'The answer uses only records and text files of the tenant, and names its sources. The caller ' +
          'keeps the conversation and sends it as `history`.',
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
          return { status: 200, body: { reply, retrieved_chunks: passages.map(citation) }, position };
        },
      }),

      personRoute({
        method: 'post',
        path: `${BASE}/rag/backfill`,
        operationId: 'backfillCorpus',
        expensive: true,
        summary: 'Add all records and text attachments to the assistant’s corpus',
        description:
          'Needed once, after a tenant got the assistant; later changes are added automatically. A second ' +
          'run changes nothing.',
        responses: {
          200: z
            .object({ added: z.number().int(), updated: z.number().int(), skipped: z.number().int() })
            .meta({ id: 'BackfillCounts', description: 'Number of sources by outcome.' }),
        },
        errors: ['embedding_model_unavailable'],
        handle: async ({ principal }) => ok(await deps.backfills.run(principal.tenantId)),
      }),
    ],
    { entitlement: 'assistant' },
  );
