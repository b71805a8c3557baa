import { z } from 'zod';
import type { ReadModels } from '../../../application/core/projections/read-models.ts';
import type { Entries } from '../../../application/ledger/entries.ts';
import type { LedgerJournal } from '../../../application/ledger/journal.ts';
import type { Posted, PostingProcess } from '../../../application/ledger/posting-process.ts';
import { invalidAt } from '../../../domain/core/errors.ts';
import { entriesOf, entryById, postedDoc } from '../../../projections/ledger/ledger-entries.ts';
import type { Reply, Route } from '../../http/route.ts';
import { idParams } from '../../http/schemas.ts';
import { creation, found, gone, list, listReply, one, pageQuery, removal, written } from '../replies.ts';
import { personRoute } from '../route-kinds.ts';
import {
  day,
  entryChange,
  entryView,
  GL,
  LEDGER_READS,
  ledgerRoutes,
  newEntry,
  reversal,
  viewOfDraft,
  viewOfEntry,
} from './ledger-views.ts';

interface Deps {
  readonly entries: Entries;
  readonly journal: LedgerJournal;
  readonly posting: PostingProcess;
  readonly readModels: ReadModels;
}

const BASE = `${GL}/entries`;
const REFUSALS = ['unbalanced', 'unknown_account', 'account_inactive', 'mixed_currency'];

export const entryFilter = z.object({
  state: z.enum(['draft', 'posted', 'reversed']).optional().meta({ description: 'Only of this state.' }),
  from: day.optional().meta({ description: 'Dated on this day or later.' }),
  to: day.optional().meta({ description: 'Dated on this day or earlier.' }),
  account: z.string().max(200).optional().meta({ description: 'With a line on this account.' }),
});

/** @throws 400 for a range that ends before it begins */
export const requireRange = ({ from, to }: { from?: string | undefined; to?: string | undefined }): void => {
  if (from === undefined || to === undefined || from <= to) return;
  throw invalidAt('to', 'before_from', '`to` must not be before `from`.');
};

const postedReply = written('posting', (posting: Posted['posting']) =>
  viewOfEntry(postedDoc(posting, posting.at), {}),
);

/** Journal entries (decisions, section 9, Entry). */
export const ledgerEntryRoutes = (deps: Deps): Route[] => {
  const reader = deps.readModels.reader('ledger');

  const draftReply = async (
    status: number,
    tenantId: string,
    { draft, position }: Awaited<ReturnType<Entries['draft']>>,
  ): Promise<Reply> => ({
    status,
    body: viewOfDraft(draft, (await deps.journal.load(tenantId)).chart),
    position,
  });

  return ledgerRoutes([
    personRoute({
      ...list(entryView, entryFilter.extend(pageQuery.shape)),
      path: BASE,
      operationId: 'listEntries',
      summary: 'Entries, newest date first; `from` and `to` are inclusive',
      description:
        'Drafts, posted and reversed entries; `account` selects entries with a line on this account.',
      reads: LEDGER_READS,
      handle: ({ principal: { tenantId }, query: { limit, cursor, ...filter } }) =>
        listReply({ limit, cursor }, async (asked) => {
          requireRange(filter);
          const page = await entriesOf(reader, tenantId, filter, asked);
          const { chart } = await deps.journal.load(tenantId);
          return { ...page, docs: page.docs.map((doc) => viewOfEntry(doc, chart)) };
        }),
    }),

    personRoute({
      ...creation(entryView, newEntry),
      path: BASE,
      operationId: 'createEntry',
      summary: 'Draft an entry with balanced lines',
      description:
        'Amounts are integers of minor units. Each line has either `debit` or `credit`, and both sides must ' +
        'be equal (422 `unbalanced`).',
      errors: REFUSALS,
      handle: async ({ principal: { tenantId }, body, context }) => {
        const drafted = await deps.entries.draft(tenantId, body, { kind: 'manual' }, context);
        return draftReply(201, tenantId, drafted);
      },
    }),

    personRoute({
      ...one('get', entryView, idParams),
      path: `${BASE}/:id`,
      operationId: 'getEntry',
      summary: 'One entry with its lines',
      description: 'Account names are frozen when the entry is posted.',
      reads: LEDGER_READS,
      handle: async ({ principal, params }) => {
        const doc = found(await entryById(reader, principal.tenantId, params.id));
        const { chart } = await deps.journal.load(principal.tenantId);
        return { status: 200, body: viewOfEntry(doc, chart) };
      },
    }),

    personRoute({
      ...one('patch', entryView, idParams),
      path: `${BASE}/:id`,
      operationId: 'changeEntry',
      summary: 'Change a draft; it may be unbalanced until it is posted',
      description: 'Send the parts that change; `lines` replaces all lines.',
      body: entryChange,
      errors: ['immutable', 'unknown_account', 'account_inactive', 'mixed_currency'],
      handle: async ({ principal: { tenantId }, params, body, context }) =>
        draftReply(200, tenantId, await deps.entries.change(tenantId, params.id, body, context)),
    }),

    personRoute({
      ...removal(idParams),
      path: `${BASE}/:id`,
      operationId: 'discardEntry',
      summary: 'Discard a draft',
      description: 'Only a draft can be discarded; a posted entry is reversed instead.',
      errors: ['immutable'],
      handle: async ({ principal, params, context }) =>
        gone(await deps.entries.discard(principal.tenantId, params.id, context)),
    }),

    personRoute({
      ...one('post', entryView, idParams),
      path: `${BASE}/:id/post`,
      operationId: 'postEntry',
      summary: 'Post a draft: it gets the next number and becomes immutable',
      description:
        'Checks the balance, the accounts and the period lock again. Of several concurrent callers one ' +
        'succeeds, the others get 409 `immutable`.',
      errors: ['immutable', 'unbalanced', 'unknown_account', 'account_inactive', 'period_locked'],
      handle: async ({ principal, params, context }) =>
        postedReply(200, await deps.posting.post(principal.tenantId, params.id, context)),
    }),

    personRoute({
      ...creation(entryView, reversal),
      path: `${BASE}/:id/reverse`,
      operationId: 'reverseEntry',
      summary: 'Reverse a posted entry: posts a mirror entry at once',
      description:
        'The original becomes `reversed` and stays in the reports beside its mirror. Without `date` the ' +
        'mirror is dated today, or like the original if that is later.',
      params: idParams,
      errors: ['immutable', 'constraint_violated', 'period_locked'],
      handle: async ({ principal, params, body, context }) =>
        postedReply(201, await deps.posting.reverse(principal.tenantId, params.id, body, context)),
    }),
  ]);
};
