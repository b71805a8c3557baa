import { z } from 'zod';
import type { LoggedEvent, RecordedEvent } from '../../../application/core/events/event-codec.ts';
import { PostingRules } from '../../../application/ledger/posting-rules.ts';
import { rulePoster } from '../../../application/ledger/rule-poster.ts';
import { RuleRunner } from '../../../application/ledger/rule-runner.ts';
import { PartnerDirectory } from '../../../application/partners/partner-directory.ts';
import type { EventStore } from '../../../application/ports/event-store.ts';
import { catalogue } from '../../../domain/catalogue.ts';
import { defineEvent } from '../../../domain/core/event.ts';
import { PLATFORM } from '../../../domain/core/platform.ts';
import { type RecordEvent, recordStream } from '../../../domain/entities/record.ts';
import { type PostingFailureEvent, postingFailureEvents } from '../../../domain/ledger/posting-failure.ts';
import type { RuleContent } from '../../../domain/ledger/posting-rule.ts';
import { changeTenant, tenantStream } from '../../../domain/tenancy/tenant.ts';
import { causeOf } from '../../support/book.ts';
import type { SharedStores } from '../../support/node.ts';
import { request, startLedger, TENANT } from './support.ts';

/** An event in the form of partner billing's. */
export const InvoiceIssued = defineEvent(
  'InvoiceIssued',
  z.looseObject({
    invoice_id: z.string(),
    number: z.string(),
    customer: z.object({ id: z.string(), name: z.string() }),
    window: z.object({ from: z.string(), to: z.string() }),
    revision: z.number(),
    currency: z.string(),
    totals: z.object({
      wholesale: z.number(),
      retail: z.number(),
      margin: z.number(),
      margin_pct: z.number().nullable(),
    }),
    lines: z.array(z.looseObject({})),
    upstream_ref: z.string(),
    issued_at: z.string(),
  }),
);

const isKnown = catalogue.some(({ type }) => type === InvoiceIssued.type);
const definitions = isKnown ? catalogue : [...catalogue, InvoiceIssued];

const FAILURES: readonly string[] = postingFailureEvents.map(({ type }) => type);

/** A ledger with posting rules and their subscriber. */
export const startRules = (shared: Partial<SharedStores> = {}, wrap?: (events: EventStore) => EventStore) => {
  const node = startLedger({ ...shared, definitions }, wrap);
  const { events, codec } = node;
  const partners = new PartnerDirectory(node.streams);
  const runner = new RuleRunner(node);
  const poster = rulePoster({ ...node, partners, runner });

  return {
    ...node,
    rules: new PostingRules({ ...node, partners, runner }),
    poster,
    /** All events that the subscriber follows, in log order. */
    log: async (): Promise<LoggedEvent[]> => {
      const stored = await events.readAll({ limit: 100_000, filter: { types: poster.types } });
      return stored.map((each) => codec.decode(each));
    },
    /** Events of failures and their retries. */
    failures: async () =>
      (await node.readAll())
        .filter(({ type }) => FAILURES.includes(type))
        // The catalogue gives each of these types its shape.
        .map((event) => event as RecordedEvent<PostingFailureEvent>),
  };
};
export type RulesNode = ReturnType<typeof startRules>;

export const SALE: RuleContent = {
  name: 'Sales',
  source_kind: 'entity.created',
  active: true,
  mode: 'post',
  lines: [
    { account_code: '1200', side: 'debit', amount: { path: 'values.total' } },
    { account_code: '4000', side: 'credit', amount: { remainder: true } },
  ],
};

export const makeRule = async ({ rules }: RulesNode, more: Partial<RuleContent> = {}): Promise<string> =>
  (await rules.create(TENANT, { ...SALE, ...more }, request())).rule.id;

/** Creates a record; returns its id. */
export const happen = async (
  { commands }: RulesNode,
  id: string,
  total: number,
  tenantId: string = TENANT,
): Promise<void> => {
  await commands.execute({
    tenantId,
    type: recordStream,
    id,
    cause: causeOf(id),
    decide: (): readonly RecordEvent[] => [
      {
        type: 'RecordCreated',
        data: {
          record_id: id,
          entity_name: 'sale',
          values: { total },
          types: {},
          schema_revision: 0,
          created_by: 'ann',
        },
      },
    ],
  });
};

export const entitle = async ({ commands }: RulesNode, ledger: boolean): Promise<void> => {
  await commands.execute({
    tenantId: PLATFORM,
    type: tenantStream,
    id: TENANT,
    cause: causeOf('entitle'),
    decide: (state) => changeTenant(state, { entitlements: { ledger } }),
  });
};
