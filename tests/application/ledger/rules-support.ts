import type { LoggedEvent, RecordedEvent } from '../../../application/core/events/event-codec.ts';
import { PostingRules } from '../../../application/ledger/posting-rules.ts';
import { rulePoster } from '../../../application/ledger/rule-poster.ts';
import { RuleRunner } from '../../../application/ledger/rule-runner.ts';
import { PartnerDirectory } from '../../../application/partners/partner-directory.ts';
import type { EventStore } from '../../../application/ports/event-store.ts';
import { PLATFORM } from '../../../domain/core/platform.ts';
import { type RecordEvent, recordStream } from '../../../domain/entities/record.ts';
import { type PostingFailureEvent, postingFailureEvents } from '../../../domain/ledger/posting-failure.ts';
import type { RuleContent } from '../../../domain/ledger/posting-rule.ts';
import { changeTenant, tenantStream } from '../../../domain/tenancy/tenant.ts';
import { causeOf } from '../../support/book.ts';
import type { SharedStores } from '../../support/node.ts';
import { request, startLedger, TENANT } from './support.ts';

const FAILURES: readonly string[] = postingFailureEvents.map(({ type }) => type);

/** A ledger with posting rules and their subscriber. */
export const startRules = (shared: Partial<SharedStores> = {}, wrap?: (events: EventStore) => EventStore) => {
  const node = startLedger(shared, wrap);
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
    /** Events of failures, failed retries and resolutions. */
    failures: async () =>
      (await node.readAll())
        .filter(({ type }) => FAILURES.includes(type))
        // The codec checks the data of these types against their schemas.
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

/** Creates a record of the entity `sale`; its event is one to which {@link SALE} applies. */
export const createSale = async (
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
