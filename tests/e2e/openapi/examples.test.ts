import { expect } from 'chai';
import { z } from 'zod';
import { EXAMPLES } from '../../../api/openapi/examples.ts';
import { recordExamples } from '../../support/examples/record.ts';
import { recordServed, startServedWorld } from '../../support/examples/served.ts';
import { settled } from '../../support/examples/settled.ts';
import { endWorld, sharedWorld } from '../../support/world.ts';

/** Answers without an example: pages, metrics, the documents themselves, and the answer that needs a provider. */
const WITHOUT: readonly string[] = [
  'asyncApiDocument 200 application/json',
  'docs 200 text/html',
  'finishSso 200 application/json',
  'metrics 200 text/plain',
  'openApiDocument 200 application/json',
  'passwordResetPage 200 text/html',
  'printInvoice 200 text/html',
];
const OF_A_SERVER: readonly string[] = ['askAssistant', 'backfillCorpus', 'getAuditProof'];

const content = z.object({
  content: z.record(z.string(), z.object({ example: z.unknown().optional() })).default({}),
});
const operation = z.object({
  operationId: z.string(),
  requestBody: content.optional(),
  responses: z.record(z.string(), content),
});
const document = z.object({
  paths: z.record(z.string(), z.record(z.string(), operation)),
  webhooks: z.record(z.string(), z.record(z.string(), operation)),
  components: z.object({ responses: z.record(z.string(), content) }),
});
const asyncapi = z.object({
  components: z.object({
    messages: z.record(z.string(), z.object({ examples: z.array(z.unknown()).optional() })),
  }),
});

/** Names of contents without an example. */
const bare = (name: string, part: z.output<typeof content> | undefined): string[] =>
  Object.entries(part?.content ?? {}).flatMap(([type, { example }]) =>
    example === undefined ? [`${name} ${type}`] : [],
  );

/** Replaces ids, times and hashes, which differ between runs: files and threads are not on virtual time. */
const same = (value: unknown): unknown => JSON.parse(settled(JSON.stringify(value)));

describe('The examples of the documents', () => {
  let served: unknown;
  before(async () => {
    served = (await (await sharedWorld()).anybody.get('/openapi.json')).json;
  });
  after(endWorld);

  it('are recorded requests and answers; `npm run openapi:examples` records them', async () => {
    const { operations, errors, events } = await recordExamples(served);
    const told = Object.keys(EXAMPLES.operations).filter((name) => !OF_A_SERVER.includes(name));
    expect(Object.keys(operations)).to.have.members(told);
    for (const [name, example] of Object.entries(operations)) {
      expect(same(example), name).to.deep.equal(same(EXAMPLES.operations[name]));
    }
    expect(same(errors)).to.deep.equal(same(EXAMPLES.errors));
    expect(same(events)).to.deep.equal(same(EXAMPLES.events));
  }).timeout(180_000);

  it('of the assistant and of the audit’s proof are recorded from a real server', async () => {
    const recorded = await recordServed(await startServedWorld());
    for (const name of OF_A_SERVER) expect(recorded[name], name).to.deep.equal(EXAMPLES.operations[name]);
  }).timeout(120_000);

  it('exist for every body and every answer, refusals and webhooks too', () => {
    const { paths, webhooks, components } = document.parse(served);
    const operations = [...Object.values(paths), ...Object.values(webhooks)].flatMap((item) =>
      Object.values(item),
    );
    expect(operations.length).to.be.greaterThan(150);
    const missing = [
      ...operations.flatMap(({ operationId, requestBody, responses }) => [
        ...bare(operationId, requestBody),
        ...Object.entries(responses).flatMap(([status, part]) => bare(`${operationId} ${status}`, part)),
      ]),
      ...Object.entries(components.responses).flatMap(([name, part]) => bare(name, part)),
    ];
    expect(missing.toSorted()).to.deep.equal(WITHOUT);
  });

  it('exist for every envelope and delivery of the AsyncAPI document', async () => {
    const text = (await (await sharedWorld()).anybody.get('/asyncapi.json')).json;
    const { messages } = asyncapi.parse(text).components;
    const missing = Object.entries(messages).filter(([, { examples = [] }]) => examples.length === 0);
    expect(missing.map(([name]) => name)).to.deep.equal([]);
  });
});
