import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { KEYS, OF_CHILDREN } from '../support/server.ts';
import { platformToken } from '../support/tokens.ts';
import { endWorld, startWorld, type World } from '../support/world.ts';

/** Examples of the guides, with the expected answer of each call in the lines `# → …`. */
const guides = globSync('docs/*.md')
  .sort()
  .flatMap((page) =>
    [...readFileSync(page, 'utf8').matchAll(/<!-- example -->\n```sh\n([\s\S]*?)```/g)].map(
      ([, script = '']) => ({
        name: basename(page),
        script,
        answers: [...script.matchAll(/^# → (.+)$/gm)].map(([, answer = '']) => answer),
      }),
    ),
  );

/** `id_of` and `call`, as the README defines them. */
const helpers = ['id_of', 'call'].map(
  (name) => new RegExp(`^${name}\\(\\) \\{.*$`, 'm').exec(readFileSync('README.md', 'utf8'))?.[0] ?? '',
);

describe('The examples of the guides', () => {
  let world: World;

  before(async () => {
    world = await startWorld({ env: { EMBEDDING_MODEL: 'bundled' } });
  });
  after(endWorld);

  it('exist', () => {
    expect(guides.length).to.be.at.least(10);
    expect(helpers).to.not.include('');
  });

  for (const { name, script, answers } of guides) {
    it(`answer as ${name} says when pasted`, async () => {
      const { id, admin } = await world.tenant();
      await world.platform.patch(`/super/tenants/${id}`, { plan: 'pro' });
      const { stdout } = await promisify(execFile)(
        'bash',
        ['--norc', '-c', [...helpers, script].join('\n')],
        {
          env: {
            ...OF_CHILDREN,
            ...KEYS,
            DATA_DIR: world.server.dataDir,
            API: world.server.base,
            ADA: admin.token,
            TENANT: id,
            ROOT: platformToken(),
          },
          timeout: 50_000,
        },
      );
      let rest = stdout;
      for (const answer of answers) {
        expect(rest, `${answer} in ${stdout}`).to.contain(answer);
        rest = rest.slice(rest.indexOf(answer));
      }
      expect(answers).to.not.be.empty;
    }).timeout(60_000);
  }
});
