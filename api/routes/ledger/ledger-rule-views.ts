import { z } from 'zod';
import type { Preview } from '../../../application/ledger/posting-rules.ts';
import { listOf } from '../../../domain/core/list-schema.ts';
import { iso } from '../../../domain/core/projection.ts';
import { MAX_LINES } from '../../../domain/ledger/content.ts';
import { isPercent, MAX_MONEY, MAX_PERCENT, PERCENT_PLACES } from '../../../domain/ledger/money.ts';
import type { PostingFailure } from '../../../domain/ledger/posting-failure.ts';
import {
  contentOf,
  MAX_RULE_LINES,
  MODES,
  type PostingRule,
  SIDES,
} from '../../../domain/ledger/posting-rule.ts';
import { PAYLOAD_TYPES, SOURCE_KINDS } from '../../../domain/ledger/rule-sources.ts';
import { filledText, text, timestamp, uuid } from '../../http/schemas.ts';
import { shown } from '../replies.ts';
import { day, entryView } from './ledger-views.ts';

/** Shapes of posting rules (decisions, section 9, Posting rule). Unknown keys are refused. */

const path = text({ max: 200 }).refine(
  (value) => value.split('.').every((name) => name !== ''),
  'A path must be names separated by dots.',
);

const DECIMAL = /^(0|[1-9][0-9]{0,37})(\.[0-9]{1,38})?$/;
const fixed = z.union(
  [
    z.int().min(1).max(MAX_MONEY),
    z
      .string()
      .regex(DECIMAL)
      .refine((value) => /[1-9]/.test(value)),
  ],
  'A fixed amount must be a whole number of minor units or a decimal string of major units, above zero.',
);

const percent = z
  .number()
  .refine(
    isPercent,
    `A percentage must be above 0, at most ${MAX_PERCENT}, with at most ${PERCENT_PLACES} decimal places.`,
  );

const amount = z.union(
  [
    z.strictObject({ path }),
    z.strictObject({ fixed }),
    z.strictObject({ percent, path }),
    z.strictObject({ remainder: z.literal(true) }),
  ],
  'An amount must be {path}, {fixed}, {percent, path} or {remainder: true}.',
);

const memo = text({ min: 0, max: 500 });
const line = z.strictObject({
  account_code: text({ max: 200 }),
  side: z.enum(SIDES),
  amount,
  memo: memo.optional(),
});

const sourceKind = z.enum(SOURCE_KINDS);
const mode = z.enum(MODES);

/** `tenant_id` is accepted, as in every body. */
const tenantId = z.string().nullish();

const ruleBody = z.strictObject({
  name: filledText(200, 'A name must not be blank.'),
  source_kind: sourceKind,
  active: z.boolean(),
  when: text({ max: 4096 }).nullish(),
  date: path.nullish(),
  lines: listOf(line, { min: 2, max: MAX_RULE_LINES }),
  mode,
  tenant_id: tenantId,
});

export const newRule = ruleBody.extend({ active: z.boolean().default(true), mode: mode.default('draft') });
// Derived from the body without defaults, because zod applies defaults in partial objects too.
export const ruleChange = ruleBody.partial();

export const ruleView = z
  .object({
    id: uuid,
    name: z.string(),
    source_kind: sourceKind,
    active: z.boolean(),
    when: z.string().optional(),
    date: z.string().optional(),
    lines: z.array(
      z.object({
        account_code: z.string(),
        side: z.enum(SIDES),
        amount: z.union([
          z.object({ percent: z.number(), path: z.string() }),
          z.object({ path: z.string() }),
          z.object({ fixed: z.union([z.int(), z.string()]) }),
          z.object({ remainder: z.literal(true) }),
        ]),
        memo: z.string().optional(),
      }),
    ),
    mode,
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'PostingRule' });

export const viewOfRule = (rule: PostingRule) => ({
  id: rule.id,
  ...contentOf(rule),
  lines: [...rule.lines],
  created_at: iso(rule.createdAt),
  updated_at: iso(rule.updatedAt),
});

export const sourceView = z
  .object({
    kind: sourceKind,
    title: z.string(),
    payload: z.array(z.object({ path: z.string(), type: z.enum(PAYLOAD_TYPES) })),
  })
  .meta({ id: 'PostingRuleSource' });

export const previewBody = z.strictObject({
  payload: z.record(z.string(), z.unknown()),
  tenant_id: tenantId,
});

const entryShape = entryView.shape;
/** A previewed entry: it has no id, number or times. */
export const previewView = z
  .object({
    matches: z.boolean(),
    entry: z
      .object({
        state: z.enum(['draft', 'posted']),
        date: day,
        memo: z.string(),
        currency: z.string(),
        lines: entryShape.lines.max(MAX_LINES),
        total_debit: entryShape.total_debit,
        total_credit: entryShape.total_credit,
        source: entryShape.source,
      })
      .optional()
      .meta({ description: 'Absent if the rule does not match or every line is zero.' }),
  })
  .meta({ id: 'PostingRulePreview' });

export type PreviewedEntry = NonNullable<Preview['entry']>;

export const failureView = z
  .object({
    id: uuid,
    rule_id: uuid,
    event_id: uuid,
    source_kind: sourceKind,
    code: z.string(),
    message: z.string(),
    attempts: z.int(),
    created_at: timestamp,
    resolved_at: timestamp.optional(),
  })
  .meta({ id: 'PostingFailure' });

export const viewOfFailure = (failure: PostingFailure) =>
  shown(failureView, {
    ...failure,
    rule_id: failure.ruleId,
    event_id: failure.eventId,
    source_kind: failure.kind,
    created_at: iso(failure.createdAt),
    resolved_at: failure.resolvedAt === undefined ? undefined : iso(failure.resolvedAt),
  });
