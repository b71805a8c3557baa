import { join } from 'node:path';
import { expect } from 'chai';
import { z } from 'zod';
import type { Answer, Client, Options } from '../../support/client.ts';
import { storedEvents } from '../../support/event-rows.ts';
import { randomName, type Server } from '../../support/server.ts';
import { uuid } from '../../support/shapes.ts';
import { type Member, sharedWorld, type TestTenant } from '../../support/world.ts';
import { at, define, type FieldInput, records } from '../entities/support.ts';

/** Schemas and calls of the forms API. The schemas are strict, so that a test fails on an additional key. */

export const FORMS = '/api/v1/tenant/forms';

const instant = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

export const form = z.strictObject({
  id: uuid,
  slug: z.string(),
  title: z.string(),
  entity_name: z.string(),
  fields: z.array(z.strictObject({ field_key: z.string(), label: z.string(), required: z.boolean() })),
  status: z.enum(['draft', 'published', 'archived']),
  created_at: instant,
  updated_at: instant,
});
export const forms = z.array(form);
export type Form = z.output<typeof form>;

export const publicForm = z.strictObject({
  tenant: z.string(),
  slug: z.string(),
  title: z.string(),
  fields: z.array(
    z.strictObject({
      field_key: z.string(),
      label: z.string(),
      required: z.boolean(),
      type: z.string(),
      options: z.array(z.string()).optional(),
      max_length: z.number().optional(),
      min: z.union([z.number(), z.string()]).optional(),
      max: z.union([z.number(), z.string()]).optional(),
    }),
  ),
});

export const submitted = z.strictObject({ submission_id: z.string() });

export const newSlug = (): string => randomName('s').replaceAll('_', '-').toLowerCase();

export interface Draft {
  readonly slug?: string;
  readonly title?: string;
  readonly entity_name: string;
  readonly fields: readonly { field_key: string; label?: string; required?: boolean }[];
}

export const draft = async (who: Member, own: Draft): Promise<Form> => {
  const answer = await who.api.post(FORMS, { slug: newSlug(), title: 'A form', ...own });
  return answer.as(form, 201);
};

export const act = (who: Member, id: string, what: 'publish' | 'archive', options?: Options) =>
  who.api.post(`${FORMS}/${id}/${what}`, undefined, options);

/** A published form of a new entity with these fields; by default the form shows each of them. */
export const published = async (
  tenant: TestTenant,
  entity: readonly FieldInput[],
  own: Partial<Draft> = {},
): Promise<Form> => {
  const entity_name = await define(tenant.admin, ...entity);
  const fields = own.fields ?? entity.map(({ key }) => ({ field_key: key }));
  const made = await draft(tenant.admin, { entity_name, ...own, fields });
  return (await act(tenant.admin, made.id, 'publish')).as(form);
};

export const publicPath = (tenant: TestTenant, { slug }: Pick<Form, 'slug'>): string =>
  `/public/forms/${tenant.id}/${slug}`;

export const send = (api: Client, path: string, values: unknown, submission_id?: string): Promise<Answer> =>
  api.post(`${path}/submissions`, { values, ...(submission_id === undefined ? {} : { submission_id }) });

export const recordsOf = async (who: Member, entityName: string) =>
  (await who.api.get(at(entityName))).as(records);

const submittedData = z.strictObject({
  form_id: uuid,
  submission_id: z.string(),
  entity_name: z.string(),
  entity_id: uuid,
  values: z.record(z.string(), z.unknown()),
});
const metadata = z.looseObject({ actor: z.looseObject({ kind: z.string(), id: z.string() }) });

/** Every `FormSubmitted` of a tenant, from the log. */
export const submissionsIn = ({ dataDir }: Server, tenantId: string) =>
  storedEvents(join(dataDir, 'events.db'))
    .filter(({ stream, type }) => type === 'FormSubmitted' && stream.startsWith(`${tenantId}.submission-`))
    .map((event) => ({
      data: submittedData.parse(JSON.parse(event.data)),
      actor: metadata.parse(JSON.parse(event.metadata)).actor,
    }));

/** A world, a tenant, and the tenant's published form of claims with its path. */
export const withClaims = async () => {
  const world = await sharedWorld();
  const tenant = await world.tenant();
  const claim = await published(
    tenant,
    [
      { key: 'name', type: 'text', label: 'Name', required: true, max_length: 20 },
      { key: 'amount', type: 'integer', min: 1, max: 100 },
      { key: 'price', type: 'decimal' },
      { key: 'kind', type: 'enum', options: ['water', 'fire'], default: 'water' },
      { key: 'mail', type: 'text' },
      { key: 'secret', type: 'text', default: 'not for strangers' },
    ],
    {
      title: 'Report',
      fields: [
        { field_key: 'name' },
        { field_key: 'amount', label: 'How many?' },
        { field_key: 'price' },
        { field_key: 'kind' },
        { field_key: 'mail', required: true },
      ],
    },
  );
  return { world, tenant, claim, path: publicPath(tenant, claim) };
};

/** The required values of the form of {@link withClaims}. */
export const VALUES = { name: 'Bob', mail: 'bob@people.example' };

// Pages

/** Visits a page like a browser without scripts, which needs HTML in every answer, also in errors. */
export const visit = async (server: Server, path: string): Promise<Response & { page: string }> => {
  const response = await fetch(server.base + path, { headers: { accept: BROWSER } });
  return Object.assign(response, { page: await response.text() });
};

export const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

export const sendForm = async (
  server: Server,
  path: string,
  values: Readonly<Record<string, string>>,
): Promise<Response & { page: string }> => {
  const response = await fetch(server.base + path, {
    method: 'POST',
    headers: { accept: BROWSER },
    body: new URLSearchParams(values),
  });
  return Object.assign(response, { page: await response.text() });
};

/** Action of the page's form, and its hidden values. */
export const formOn = (page: string, at: string): { action: string; hidden: Record<string, string> } => {
  const action = /<form method="post" action="([^"]+)"/.exec(page)?.[1];
  if (action === undefined) throw new Error('no form on the page');
  const hidden = [...page.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"[^>]*>/g)];
  const { pathname } = new URL(action, `http://x${at}`);
  return {
    action: pathname,
    hidden: Object.fromEntries(hidden.map(([, name = '', value = '']) => [name, value])),
  };
};

/** The tag of an input, with its attributes. */
export const inputOf = (page: string, key: string): string => {
  const tag = new RegExp(`<(?:input|select|textarea) id="field-${key}"[^>]*>`).exec(page)?.[0];
  if (tag === undefined) throw new Error(`no input ${key}`);
  return tag;
};

export const expectSafe = (page: string): void => {
  expect(page).not.to.match(/<script|<img|onerror=|javascript:/i);
  // Every opening tag is one that our pages use, so no submitted text became a tag.
  const tags = new Set([...page.matchAll(/<([a-z][a-z0-9]*)/gi)].map(([, name]) => name?.toLowerCase()));
  for (const tag of tags) expect(OURS, `<${tag}>`).to.include(tag);
};

const OURS =
  'html head meta title style body main h1 h2 p div form input label span select option textarea button ul li a'.split(
    ' ',
  );
