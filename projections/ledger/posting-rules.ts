import { byCreatedAt, collection } from '../../domain/core/collection.ts';
import type { EventMeta } from '../../domain/core/event.ts';
import { iso, projection, touch } from '../../domain/core/projection.ts';
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

const rules = collection<RuleDoc>('rules');
const failures = collection<FailureDoc>('failures');

export const postingRulesProjection = projection<PostingRuleEvent | PostingFailureEvent>({
  name: 'posting_rules',
  version: 1,
  collections: [
    { name: 'rules', indexes: [byCreatedAt] },
    { name: 'failures', indexes: [byCreatedAt] },
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

/** Newest first. */
export const rulesOf = rules.list('by_created_at', 'desc');

/** Newest first, including resolved failures. */
export const failuresOf = failures.list('by_created_at', 'desc');

export const ruleById = rules.get;
