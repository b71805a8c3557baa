import { createRequire } from 'node:module';
import { expect } from 'chai';
import { z } from 'zod';
import { openApiDocument } from '../../../api/openapi/document.ts';
import { routesWithoutServer } from '../../../api/openapi/routes.ts';

const packageJson: unknown = createRequire(import.meta.url)('../../../package.json');

const schema = z.looseObject({ $ref: z.string().optional() });
const body = z.object({
  content: z.record(z.string(), z.object({ schema, example: z.unknown().optional() })).default({}),
});
const operation = z.object({
  operationId: z.string(),
  summary: z.string(),
  description: z.string(),
  parameters: z.array(z.looseObject({ name: z.string(), description: z.string().optional() })).default([]),
  requestBody: body.optional(),
  responses: z.record(z.string(), z.union([z.object({ $ref: z.string() }), body])),
});
type Operation = z.output<typeof operation>;
const shape = z.object({
  info: z.object({
    version: z.string(),
    description: z.string(),
    license: z.object({}),
    contact: z.object({}),
  }),
  tags: z.array(z.object({ name: z.string(), description: z.string().optional() })),
  paths: z.record(z.string(), z.record(z.string(), operation)),
  webhooks: z.record(z.string(), z.object({ post: operation })),
  components: z.object({
    schemas: z.record(z.string(), z.unknown()),
    responses: z.record(z.string(), z.unknown()),
  }),
});

/** The document of the product, from the route table alone: a new route fails here until it is described. */
describe('The OpenAPI document', () => {
  let text: string;
  let document: z.output<typeof shape>;
  let operations: readonly Operation[];

  before(async () => {
    const made = await openApiDocument(await routesWithoutServer());
    text = JSON.stringify(made);
    document = shape.parse(made);
    operations = Object.values(document.paths).flatMap((item) => Object.values(item));
    expect(operations.length).to.be.greaterThan(140);
  });

  it('describes every operation, parameter and tag', () => {
    const bare = operations.flatMap(({ operationId, description, parameters }) => [
      ...(description === '' || description.startsWith('Needs ') ? [operationId] : []),
      ...parameters
        .filter(({ description = '' }) => description === '')
        .map(({ name }) => `${operationId} ${name}`),
    ]);
    const tags = document.tags.filter(({ description = '' }) => description === '').map(({ name }) => name);
    expect([...bare, ...tags]).to.deep.equal([]);
  });

  it('has a named schema for each JSON body and answer', () => {
    const anonymous = operations.flatMap(({ operationId, requestBody, responses }) =>
      [requestBody, ...Object.values(responses)]
        .flatMap((part) => (part !== undefined && 'content' in part ? Object.entries(part.content) : []))
        .filter(([type, { schema }]) => type === 'application/json' && schema.$ref === undefined)
        .map(() => operationId),
    );
    expect(anonymous).to.deep.equal([]);
    expect(document.components.schemas).to.include.keys(
      'JournalEntry',
      'TrialBalance',
      'MessageBody',
      'UserList',
    );
  });

  it('has no recursive schema: any JSON is the empty schema', () => {
    expect(text).not.to.contain('__schema');
    const recursive = Object.entries(document.components.schemas).filter(([name, schema]) =>
      JSON.stringify(schema).includes(`"#/components/schemas/${name}"`),
    );
    expect(recursive.map(([name]) => name)).to.deep.equal([]);
  });

  it('refers to each error answer, 431 included', () => {
    for (const { operationId, responses } of operations) {
      const errors = Object.entries(responses).filter(([status]) => Number(status) >= 400);
      const inline = errors.filter(([, answer]) => !('$ref' in answer)).map(([status]) => status);
      expect(inline, operationId).to.deep.equal(operationId === 'healthReady' ? ['503'] : []);
      expect(responses).to.have.property('431');
    }
  });

  it('names refusals that need a newer build, huge amounts or a late write', () => {
    const errorsOf = (id: string): string =>
      operations.find(({ operationId }) => operationId === id)?.description.split('Errors of its own: ')[1] ??
      '';
    expect(errorsOf('rebuildProjection')).to.contain('409 `conflict`');
    expect(errorsOf('defineEntity')).to.contain('`conflict`');
    expect(errorsOf('generateInvoice'))
      .to.contain('`constraint_violated`')
      .and.contain('`read_model_behind`');
  });

  it('has the version of the package, a licence, a contact and the webhooks', () => {
    expect(document.info.version).to.equal(z.object({ version: z.string() }).parse(packageJson).version);
    expect(Object.keys(document.webhooks)).to.include.members([
      'job.transition',
      'entity.created',
      'webhook.test',
    ]);
  });
});
