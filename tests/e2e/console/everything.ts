import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { partnerWith, putCard, statementsOf } from '../../support/billing.ts';
import { activeExtension, mintToken } from '../../support/delegation.ts';
import type { TestPartner } from '../../support/partners.ts';
import { eventually } from '../../support/server.ts';
import { uploaded } from '../../support/uploads.ts';
import { startReceiver } from '../../support/webhook-receiver.ts';
import { say, type TestTenant, talk, token, type World } from '../../support/world.ts';
import { generate } from '../billing/invoice-support.ts';
import { draft as draftForm } from '../forms/support.ts';
import { failuresOf, makeRule } from '../ledger/rules-support.ts';
import { ACCOUNTS, CHART, drafted, posted } from '../ledger/support.ts';
import { ofStatus, subscribe } from '../webhooks/support.ts';
import { ENTITIES, JOBS, publish } from '../workflow/support.ts';

/** The audience of a page: persons of a tenant, platform admins, or a partner. */
export type Audience = 'tenant' | 'platform' | 'partner';

export interface ListedPage {
  /** Pattern of the page's path, as in `console/src/pages/index.ts`. */
  readonly pattern: string;
  readonly audience: Audience;
  /** Whether only admins of the tenant see the page. */
  readonly isForAdmins: boolean;
}

/** All pages of the Console. */
export const allPages = (): readonly ListedPage[] => {
  const source = readFileSync('console/src/pages/index.ts', 'utf8');
  return [...source.matchAll(/page\('([^']+)', '(\w+)'/g)].map(([, pattern = '', isFor = '']) => ({
    pattern,
    audience: isFor === 'platform' || isFor === 'partner' ? isFor : 'tenant',
    isForAdmins: isFor === 'admin',
  }));
};

export interface Everything {
  readonly tenant: TestTenant;
  readonly partner: TestPartner;
  /** Address of each page, by its pattern. Each of these pages has something to show. */
  readonly addresses: Readonly<Record<string, string>>;
}

const withId = z.looseObject({ id: z.string() });

const FIELDS = [
  ['title', 'text'],
  ['about', 'long_text'],
  ['amount', 'integer'],
  ['price', 'decimal'],
  ['urgent', 'boolean'],
  ['due', 'date'],
  ['seen', 'datetime'],
  ['extra', 'json'],
] as const;

/**
 * Creates a tenant with one resource of every kind. The tenant is a customer of a partner.
 * @param text put into every text that people write, such as names, memos and notes
 */
export const everything = async (world: World, text: string): Promise<Everything> => {
  const { partner, tenants } = await partnerWith(world, 1);
  const [tenant] = tenants;
  if (tenant === undefined) throw new Error('no customer');
  const { api } = tenant.admin;
  const change = { name: text, plan: 'business', entitlements: { ledger: true } };
  (await world.platform.patch(`/super/tenants/${tenant.id}`, change)).as(z.looseObject({}));
  await putCard(partner, { records_created: { wholesale: '40', retail: '125', included: 1 } });

  const person = await tenant.person(text);
  const conversation = await talk(person, tenant.admin);
  await say(person, conversation, `${text} ${token(tenant.admin)}`);

  await publish(tenant.admin, 'flow');
  const fields = FIELDS.map(([key, type]) => ({ key, label: `${key} ${text}`.slice(0, 100), type }));
  const entity = { name: 'thing', label: text, fields, workflow: 'flow' };
  (await api.post(ENTITIES, entity)).as(z.looseObject({}), 201);

  const receiver = await startReceiver(() => 500);
  const hook = await subscribe(tenant.admin, receiver.url, { description: text });
  for (const each of CHART)
    await api.post(ACCOUNTS, { ...each, name: `${each.name} ${text}`, category: text });
  const rule = await makeRule(api, {
    name: text,
    lines: [
      { account_code: '1200', side: 'debit', amount: { path: 'values.nothing' } },
      { account_code: '4000', side: 'credit', amount: { remainder: true } },
    ],
  });
  const values = { title: text, about: text, amount: 1200, price: '12.50', urgent: true, extra: { text } };
  const record = (await api.post(`${ENTITIES}/thing/records`, { values })).as(withId, 201).id;
  await api.post(`${ENTITIES}/thing/records`, { values: { title: 'Second', amount: 7 } });
  (await api.post(`${ENTITIES}/thing/records/${record}/notes`, { body: text })).as(withId, 201);
  await uploaded(api, { entity: 'thing', id: record }, text, { filename: 'note.txt' });
  (await api.post(`${JOBS}/${record}/links`, { page_slug: 'status' })).as(withId, 201);
  await draftForm(tenant.admin, {
    title: text,
    entity_name: 'thing',
    fields: [{ field_key: 'title', label: text }],
  });
  await failuresOf(api, rule, 2);
  const lines = [
    { account_code: '1000', debit: 12_345, memo: text },
    { account_code: '4000', credit: 12_345 },
  ];
  const entry = await posted(api, { memo: text, lines });
  const draft = await drafted(api, { memo: text, lines });
  const [delivery] = await ofStatus(tenant.admin, hook.id, 'dead', 2, 20_000);
  const wanted = {
    entity_name: 'thing',
    operation: 'edit',
    selection: { kind: 'filter', filter_expr: 'amount < 1000' },
    op_params: { kind: 'edit', fields: [{ field_key: 'title', new_value: text }] },
  };
  const bulk = (await api.post('/api/v1/tenant/bulk-ops/preview', wanted)).as(withId, 201).id;
  await mintToken(api, { name: text });
  await activeExtension(api, `of-${tenant.id}`, { name: text });

  await eventually('two records are counted', async () => {
    const [statement] = await statementsOf(partner);
    return statement?.lines.some(({ meter, quantity }) => meter === 'records_created' && quantity === 2);
  });
  const invoice = await generate(partner, tenant);

  const addresses: Record<string, string> = {
    ...Object.fromEntries(
      allPages()
        .filter(({ pattern }) => !pattern.includes(':'))
        .map(({ pattern }) => [pattern, pattern]),
    ),
    '/billing/customers/:id': `/billing/customers/${tenant.id}`,
    '/billing/customers/:id/:meter': `/billing/customers/${tenant.id}/records_created`,
    '/billing/invoices/:id': `/billing/invoices/${invoice.id}`,
    '/bulk/:id': `/bulk/${bulk}`,
    '/events/streams/:stream': `/events/streams/${tenant.id}.record-${record}`,
    '/ledger/entries/:id': `/ledger/entries/${entry.id}`,
    '/ledger/entries/:id/edit': `/ledger/entries/${draft.id}/edit`,
    '/ledger/rules/:id': `/ledger/rules/${rule.id}`,
    '/messages/:id': `/messages/${conversation}`,
    '/platform/tenants/:id': `/platform/tenants/${tenant.id}`,
    '/records/:entity': '/records/thing',
    '/records/:entity/:id': `/records/thing/${record}`,
    '/webhooks/:id': `/webhooks/${hook.id}`,
    '/webhooks/deliveries/:id': `/webhooks/deliveries/${delivery?.id ?? ''}`,
    '/workflows/:name': '/workflows/flow',
  };
  return { tenant, partner, addresses };
};
