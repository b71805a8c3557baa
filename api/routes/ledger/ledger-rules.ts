import { z } from 'zod';
import type { ReadModels } from '../../../application/core/projections/read-models.ts';
import type { LedgerJournal } from '../../../application/ledger/journal.ts';
import type { PostingRules } from '../../../application/ledger/posting-rules.ts';
import { totalsOf } from '../../../domain/ledger/content.ts';
import type { RuleContent } from '../../../domain/ledger/posting-rule.ts';
import { SOURCES } from '../../../domain/ledger/rule-sources.ts';
import { failuresOf, ruleById, rulesOf } from '../../../projections/ledger/posting-rules.ts';
import type { Route } from '../../http/route.ts';
import { idParams } from '../../http/schemas.ts';
import { creation, found, listReply, ok, one, pagedList, written } from '../replies.ts';
import { personRoute } from '../route-kinds.ts';
import {
  failureView,
  newRule,
  type PreviewedEntry,
  previewBody,
  previewView,
  ruleChange,
  ruleView,
  sourceView,
  viewOfFailure,
  viewOfRule,
} from './ledger-rule-views.ts';
import { GL, ledgerRoutes, viewOfLines } from './ledger-views.ts';

interface Deps {
  readonly journal: LedgerJournal;
  readonly postingRules: PostingRules;
  readonly readModels: ReadModels;
}

const RULES = `${GL}/posting-rules`;
const FAILURES = `${GL}/posting-failures`;
const READS = ['posting_rules'];
const ACCOUNTS = ['unknown_account', 'account_inactive'];

const ruleReply = written('rule', viewOfRule);
const failureReply = written('failure', viewOfFailure);

/** Posting rules and their failures (specification, Ledger; decisions, section 9, Posting rule). */
export const ledgerRuleRoutes = (deps: Deps): Route[] => {
  const reader = deps.readModels.reader('posting_rules');

  const entryView = async (tenantId: string, { content, rule }: PreviewedEntry) => {
    const { debit, credit } = totalsOf(content.lines);
    const { date, memo, currency, lines } = content;
    return {
      state: rule.mode === 'post' ? ('posted' as const) : ('draft' as const),
      date,
      memo,
      currency,
      lines: viewOfLines(lines, (await deps.journal.load(tenantId)).chart),
      total_debit: debit,
      total_credit: credit,
      source: { kind: rule.source_kind, rule_id: rule.id },
    };
  };

  return ledgerRoutes([
    personRoute({
      ...pagedList(ruleView),
      path: RULES,
      operationId: 'listPostingRules',
      summary: 'The tenant’s posting rules, newest first',
      description: 'Active and inactive rules.',
      reads: READS,
      handle: ({ principal, query }) =>
        listReply(
          query,
          (page) => rulesOf(reader, principal.tenantId, page),
          ({ rule }) => viewOfRule(rule),
        ),
    }),

    personRoute({
      ...creation(ruleView, newRule),
      path: RULES,
      operationId: 'createPostingRule',
      summary: 'Create a posting rule, which makes an entry of each later event of its source',
      description:
        '`when` is an expression over `payload`; an amount is a fixed number, a path into the payload, a ' +
        'percentage or the remainder. The rule runs once for each event of its source after the rule’s ' +
        'creation.',
      errors: [...ACCOUNTS, 'constraint_violated'],
      handle: async ({ principal, body: { when, date, tenant_id: _own, ...given }, context }) => {
        const content: RuleContent = {
          ...given,
          ...(when === undefined || when === null ? {} : { when }),
          ...(date === undefined || date === null ? {} : { date }),
        };
        return ruleReply(201, await deps.postingRules.create(principal.tenantId, content, context));
      },
    }),

    personRoute({
      method: 'get',
      path: `${RULES}/sources`,
      operationId: 'listPostingRuleSources',
      summary: 'Sources of posting rules, with the payload of each',
      description: 'Each source with the paths and types of its payload.',
      responses: { 200: z.array(sourceView) },
      handle: async () =>
        ok(SOURCES.map(({ kind, title, payload }) => ({ kind, title, payload: [...payload] }))),
    }),

    personRoute({
      ...one('get', ruleView, idParams),
      path: `${RULES}/:id`,
      operationId: 'getPostingRule',
      summary: 'One posting rule',
      description: 'An active or inactive rule, as in the list.',
      reads: READS,
      handle: async ({ principal, params }) =>
        ok(viewOfRule(found(await ruleById(reader, principal.tenantId, params.id)).rule)),
    }),

    personRoute({
      ...one('patch', ruleView, idParams),
      path: `${RULES}/:id`,
      operationId: 'changePostingRule',
      summary: 'Change, activate or deactivate a rule; equal values change nothing',
      description: 'Entries that the rule has made stay as they are.',
      body: ruleChange,
      errors: ACCOUNTS,
      handle: async ({ principal, params, body: { tenant_id: _own, ...change }, context }) =>
        ruleReply(200, await deps.postingRules.change(principal.tenantId, params.id, change, context)),
    }),

    personRoute({
      ...one('post', previewView, idParams),
      path: `${RULES}/:id/preview`,
      operationId: 'previewPostingRule',
      summary: 'Dry-run: the entry that the rule would make of a payload; nothing is saved',
      description: 'Send a payload in the form of the rule’s source.',
      body: previewBody,
      errors: [...ACCOUNTS, 'constraint_violated', 'unbalanced', 'period_locked'],
      handle: async ({ principal, params, body }) => {
        const { tenantId } = principal;
        const { matches, entry } = await deps.postingRules.preview(tenantId, params.id, body.payload);
        return ok({ matches, entry: entry && (await entryView(tenantId, entry)) });
      },
    }),

    personRoute({
      ...pagedList(failureView),
      path: FAILURES,
      operationId: 'listPostingFailures',
      summary: 'Posting failures: events to which a rule could not be applied, newest first',
      description: 'Each with the error code and the number of attempts.',
      reads: READS,
      handle: ({ principal, query }) =>
        listReply(
          query,
          (page) => failuresOf(reader, principal.tenantId, page),
          ({ failure }) => viewOfFailure(failure),
        ),
    }),

    personRoute({
      ...one('post', failureView, idParams),
      path: `${FAILURES}/:id/retry`,
      operationId: 'retryPostingFailure',
      summary: 'Retry a posting failure with the current rule; the answer says whether it is resolved',
      description: 'Repair the cause first, for example create the missing account.',
      handle: async ({ principal, params, context }) =>
        failureReply(200, await deps.postingRules.retry(principal.tenantId, params.id, context)),
    }),
  ]);
};
