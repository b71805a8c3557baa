import { randomUUID } from 'node:crypto';
import { dataOf } from '../../../application/core/events/event-codec.ts';
import { FormSlugs } from '../../../application/forms/form-slugs.ts';
import { FormSubmissions, formSubmitter } from '../../../application/forms/form-submissions.ts';
import { Forms, type GivenForm } from '../../../application/forms/forms.ts';
import type { Clock } from '../../../application/ports/clock.ts';
import type { EventStore } from '../../../application/ports/event-store.ts';
import { RecordCreated } from '../../../domain/entities/record.ts';
import { FormSubmitted } from '../../../domain/forms/submission.ts';
import { type TenantEvent, tenantStream } from '../../../domain/tenancy/tenant.ts';
import { causeOf } from '../../support/book.ts';
import type { SharedStores } from '../../support/node.ts';
import { request, startEntities, TENANT } from '../entities/support.ts';

const ACME: TenantEvent = {
  type: 'TenantCreated',
  data: {
    tenant_id: TENANT,
    name: 'Acme',
    plan: 'free',
    partner_id: null,
    entitlements: { ledger: false, assistant: false },
    currency: 'EUR',
    timezone: 'UTC',
  },
};

export type Shared = Partial<SharedStores> & { readonly clock?: Clock };

/** A node with forms, over stores that other nodes may share. */
export const startForms = (shared: Shared = {}, wrap?: (events: EventStore) => EventStore) => {
  const node = startEntities(shared, wrap);
  const { commands, streams, schemas, directory, clock, events, codec, records, ids } = node;
  const slugs = new FormSlugs({ streams, clock });
  const forms = new Forms({ streams, schemas, directory, slugs });
  const submissions = new FormSubmissions({ streams, events, codec, records, ids });
  const subscriber = formSubmitter({ submissions });

  /** Delivers every event of the log to the subscriber. */
  const follow = async (): Promise<void> => {
    for (const stored of await node.shared.events.readAll({ limit: 100_000 })) {
      if (subscriber.types.includes(stored.type)) {
        await subscriber.handle({ ...codec.decode(stored), position: stored.position });
      }
    }
  };

  const submit = async (slug: string, id: string, values: Record<string, unknown>) =>
    submissions.submit(await forms.open(TENANT, slug), { id, values }, randomUUID());

  /** The log’s events of records and submissions. */
  const log = async () => {
    const all = (await node.shared.events.readAll({ limit: 100_000 })).map((stored) => codec.decode(stored));
    return {
      records: all.flatMap((event) => dataOf(RecordCreated, event) ?? []),
      submitted: all.flatMap((event) => dataOf(FormSubmitted, event) ?? []),
    };
  };

  /** A tenant with an entity. */
  const prepare = async (): Promise<void> => {
    await commands.execute({
      tenantId: 'platform',
      type: tenantStream,
      id: TENANT,
      cause: causeOf('platform'),
      decide: () => [ACME],
    });
    const field = { label: 'N', type: 'text' as const, required: false };
    await schemas.define(
      TENANT,
      { name: 'thing', label: 'Thing', fields: [{ ...field, key: 'name' }] },
      request(),
    );
  };

  return { ...node, slugs, forms, submissions, subscriber, follow, submit, log, prepare };
};
export type FormsNode = ReturnType<typeof startForms>;

export const given = (slug: string): GivenForm => ({
  slug,
  title: 'A form',
  entityName: 'thing',
  fields: [{ field_key: 'name', required: false }],
});

/** Publishes a form; returns its id. */
export const publish = async ({ forms }: FormsNode, slug: string): Promise<string> => {
  const { form } = await forms.create(TENANT, given(slug), request());
  await forms.publish(TENANT, form.id, request());
  return form.id;
};
