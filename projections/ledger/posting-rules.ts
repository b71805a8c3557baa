import type { EventMeta } from '../../domain/core/event.ts';
import {
  type DocumentReader,
  iso,
  type Page,
  type PageEnd,
  projection,
  touch,
} from '../../domain/core/projection.ts';
import {
  evolveFailure,
  type PostingFailure,
  type PostingFailureEvent,
} from '../../domain/ledger/posting-failure.ts';
import { evolveRule, type PostingRule, type PostingRuleEvent } from '../../domain/ledger/posting-rule.ts';

/** Posting rules and their failures (decisions, section 9, Posting rule). */

export interface RuleDoc {
  readonly created_at: string;
  readonly rule: PostingRule;
}
export interface FailureDoc {
  readonly created_at: string;
  readonly failure: PostingFailure;
}

const foldRule = (event: PostingRuleEvent & { readonly at: number }) => [
  touch<RuleDoc>('rules', event.data.rule_id, (doc) => ({
    created_at: doc?.created_at ?? iso(event.at),
    rule: evolveRule(doc?.rule, event, event),
  })),
];

const foldFailure = (event: PostingFailureEvent & EventMeta) => [
  touch<FailureDoc>('failures', event.data.failure_id, (doc) => {
    const failure = evolveFailure(doc?.failure, event, event);
    return failure === undefined ? undefined : { created_at: doc?.created_at ?? iso(event.at), failure };
  }),
];

const byCreatedAt = [{ name: 'by_created_at', fields: ['created_at'] }];

export const postingRulesProjection = projection<PostingRuleEvent | PostingFailureEvent>({
  name: 'posting_rules',
  version: 1,
  collections: [
    { name: 'rules', indexes: byCreatedAt },
    { name: 'failures', indexes: byCreatedAt },
  ],
  on: {
    PostingRuleCreated: foldRule,
    PostingRuleChanged: foldRule,
    PostingRuleFailed: foldFailure,
    PostingRetryFailed: foldFailure,
    PostingFailureResolved: foldFailure,
  },
});

// Queries

type At = { readonly limit: number; readonly after: PageEnd | undefined };
const newestFirst = { index: 'by_created_at', equals: [], order: 'desc' } as const;

/** Newest first. */
export const rulesOf = (reader: DocumentReader, tenantId: string, page: At): Promise<Page<RuleDoc>> =>
  reader.find('rules', tenantId, { ...newestFirst, ...page });

/** Newest first, including resolved ones. */
export const failuresOf = (reader: DocumentReader, tenantId: string, page: At): Promise<Page<FailureDoc>> =>
  reader.find('failures', tenantId, { ...newestFirst, ...page });

export const ruleById = (
  reader: DocumentReader,
  tenantId: string,
  id: string,
): Promise<RuleDoc | undefined> => reader.get<RuleDoc>('rules', tenantId, id);
