import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { z } from 'zod';
import { documentOf } from '../../support/client.ts';
import { GENERATED, installTools, pythonTools, run, tool } from '../../support/openapi-tools.ts';
import { routesOf } from '../../support/openapi-validator.ts';
import { BASE, endWorld, type Member, sharedWorld, talk, type World } from '../../support/world.ts';

const COMPILER = join(import.meta.dirname, '../../../node_modules/.bin/tsc');
const DOCUMENT = './generated/openapi.json';
const messages = z.array(z.object({ id: z.string() }));
const identified = z.object({
  paths: z.record(z.string(), z.record(z.string(), z.looseObject({ operationId: z.string() }))),
});

/** Uses of the document by integrators: checking it, and generating clients from it. */
describe('The served OpenAPI document', function () {
  this.timeout(300_000);
  let world: World;
  let ann: Member;
  let bob: Member;
  let operationIds: readonly string[];

  before(async () => {
    await installTools();
    world = await sharedWorld();
    const tenant = await world.tenant();
    [ann, bob] = [await tenant.person('Ann'), await tenant.person('Bob')];
    const document = await documentOf(world.server);
    mkdirSync(GENERATED, { recursive: true });
    writeFileSync(join(GENERATED, 'openapi.json'), JSON.stringify(document));
    operationIds = Object.values(identified.parse(document).paths).flatMap((item) =>
      Object.values(item).map(({ operationId }) => operationId),
    );
    expect(operationIds.length).to.be.greaterThan(140);
    expect(routesOf(document).length).to.be.greaterThan(operationIds.length);
  });
  after(endWorld);

  /** Runs a program that starts a conversation with Bob and sends a message in the name of Ann. */
  const sends = async (program: (args: readonly string[]) => Promise<string>): Promise<void> => {
    const id = await program([world.server.base, ann.token, bob.id]);
    const listed = (await bob.api.get(`${BASE}/${await talk(bob, ann)}/messages`)).as(messages);
    expect(listed.map((each) => each.id)).to.include(id);
  };

  it('has no warning of Redocly', async () => {
    const output = await tool('redocly', 'lint', '--config=redocly.yaml', '--format=json', DOCUMENT);
    const { totals } = z
      .object({ totals: z.object({ errors: z.number(), warnings: z.number() }) })
      .parse(JSON.parse(output.slice(output.indexOf('{'), output.lastIndexOf('}') + 1)));
    expect(totals).to.deep.equal({ errors: 0, warnings: 0 });
  });

  it('has no warning of Spectral', async () => {
    const output = await tool(
      'spectral',
      'lint',
      '--ruleset=spectral.yaml',
      '--fail-severity=hint',
      '--format=json',
      DOCUMENT,
    );
    expect(
      z.array(z.unknown()).parse(JSON.parse(output.slice(0, output.lastIndexOf(']') + 1))),
    ).to.deep.equal([]);
  });

  it('gives TypeScript clients with every operation, which compile and send a message', async () => {
    await tool('openapi-typescript', DOCUMENT, '-o', 'generated/openapi-typescript.d.ts');
    await tool('openapi-ts', '-i', DOCUMENT, '-o', 'generated/hey-api', '-c', '@hey-api/client-fetch');
    const types = readFileSync(join(GENERATED, 'openapi-typescript.d.ts'), 'utf8');
    const functions = readFileSync(join(GENERATED, 'hey-api/sdk.gen.ts'), 'utf8');
    const missing = operationIds.filter(
      (id) => !types.includes(`operations["${id}"]`) || !functions.includes(`export const ${id} =`),
    );
    expect(missing).to.deep.equal([]);
    // The project's compiler takes a fifth of the time of the one that the generators need.
    await run(COMPILER, ['-p', '.']);
    for (const name of ['send-with-openapi-fetch', 'send-with-hey-api']) {
      await sends((args) => run(process.execPath, [`generated/compiled/${name}.js`, ...args]));
    }
  });

  it('gives a Python client with every operation, which compiles and sends a message', async function () {
    const python = await pythonTools();
    if (python === undefined) {
      process.stdout.write('    skipped: the Python generator is neither installed nor to be had\n');
      this.skip();
    }
    const output = await run(python, [
      ...['-m', 'openapi_python_client', 'generate', '--path', DOCUMENT],
      ...['--output-path', 'generated/generated_client', '--meta', 'none', '--overwrite'],
    ]);
    expect(output).not.to.match(/WARNING|ERROR/);
    await run(python, ['-m', 'compileall', '-q', 'generated/generated_client']);
    const count = await run('find', [
      'generated/generated_client/api',
      '-name',
      '*.py',
      '-not',
      '-name',
      '__init__.py',
    ]);
    expect(count.trim().split('\n')).to.have.length(operationIds.length);
    await run('cp', ['send.py', 'generated/send.py']);
    await sends((args) => run(python, ['generated/send.py', ...args]));
  });
});
