import { expect } from 'chai';
import { z } from 'zod';
import { EXAMPLES } from '../../../api/openapi/examples.ts';
import { recordAssistant, startAssistantWorld } from '../../support/examples/assistant.ts';
import { recordExamples } from '../../support/examples/record.ts';
import { endWorld, sharedWorld } from '../../support/world.ts';

/** Answers without an example: pages, the metrics, the documents themselves, and the answer that only a provider brings about. */
const WITHOUT: readonly string[] = [
  'asyncApiDocument 200 application/json',
  'docs 200 text/html',
  'finishSso 200 application/json',
  'metrics 200 text/plain',
  'openApiDocument 200 application/json',
  'passwordResetPage 200 text/html',
  'printInvoice 200 text/html',
];
const OF_THE_ASSISTANT: readonly string[] = ['askAssistant', 'backfillCorpus'];

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

describe('The examples of the documents', () => {
  let served: unknown;
  before(async () => {
    served = (await (await sharedWorld()).anybody.get('/openapi.json')).json;
  });
  after(endWorld);

  it('are requests as they were sent, and the answers to them; `npm run openapi:examples` records them', async () => {
    const { operations, errors, events } = await recordExamples(served);
    const told = Object.keys(EXAMPLES.operations).filter((name) => !OF_THE_ASSISTANT.includes(name));
    expect(Object.keys(operations)).to.have.members(told);
    for (const [name, example] of Object.entries(operations)) {
      expect(example, name).to.deep.equal(EXAMPLES.operations[name]);
    }
    expect(errors).to.deep.equal(EXAMPLES.errors);
    expect(events).to.deep.equal(EXAMPLES.events);
  }).timeout(180_000);

  it('of the assistant are those of a server with the model', async () => {
    const recorded = await recordAssistant(await startAssistantWorld());
    for (const name of OF_THE_ASSISTANT)
      expect(recorded[name], name).to.deep.equal(EXAMPLES.operations[name]);
  }).timeout(120_000);

  it('are there for every body and every answer, refusals and webhooks too', () => {
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

  it('are there for every envelope and delivery of the AsyncAPI document', async () => {
    const text = (await (await sharedWorld()).anybody.get('/asyncapi.json')).json;
    const { messages } = asyncapi.parse(text).components;
    const missing = Object.entries(messages).filter(([, { examples = [] }]) => examples.length === 0);
    expect(missing.map(([name]) => name)).to.deep.equal([]);
  });
});
