import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { z } from 'zod';
import { hasPython } from '../../support/verifiers.ts';
import { endWorld, say, sharedWorld, talk, type World } from '../../support/world.ts';

/** The commands of docs/audit.md, verbatim. */
const blocks = [
  ...readFileSync('docs/audit.md', 'utf8').matchAll(/<!-- audit -->\n```sh\n([\s\S]*?)```/g),
].map(([, text = '']) => text);

describe('The guide for auditors', () => {
  let world: World;
  let folder: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'audit-guide-'));
    world = await sharedWorld();
  });
  after(async () => {
    await endWorld();
    await rm(folder, { recursive: true });
  });

  const run = (script: string, env: Readonly<Record<string, string>>) =>
    new Promise<{ code: number | null; output: string }>((resolve, reject) => {
      // Redirects files to a folder of the test.
      const moved = script.replaceAll(/\b(proof|events)\.ndjson/g, (name) => join(folder, name));
      const child = spawn('bash', ['-c', `set -e\n${moved}`], { env: { ...process.env, ...env } });
      let output = '';
      for (const stream of [child.stdout, child.stderr]) {
        stream.setEncoding('utf8').on('data', (text: string) => {
          output += text;
        });
      }
      child.once('error', reject);
      child.once('close', (code) => resolve({ code, output }));
    });

  it('works as written', async () => {
    const home = await world.tenant();
    const [ada, ben] = [await home.person('Ada'), await home.person('Ben')];
    await say(ada, await talk(ada, ben), 'hello');
    const proof = await home.admin.api.get('/api/v1/tenant/audit/proof');
    const { public_key } = z.looseObject({ public_key: z.string() }).parse(proof.json);
    const env = { API: world.server.base, TOKEN: home.admin.token, PUBLIC_KEY: public_key };
    const [fetching, verifying, again] = blocks;
    expect(blocks).to.have.length(3);
    expect(await run(fetching ?? '', env)).to.deep.equal({ code: 0, output: '' });
    const { code, output } = await run(verifying ?? '', env);
    expect(output).to.match(/^VERIFIED: /);
    expect(code).to.equal(0);
    if (!hasPython()) return;
    const second = await run(again ?? '', env);
    expect(second.output).to.match(/^\{"verified": true/);
    expect(second.code).to.equal(0);
  }).timeout(60_000);
});
