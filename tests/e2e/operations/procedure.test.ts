import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { admin } from '../../support/admin-cli.ts';
import { freePort } from '../../support/free-port.ts';
import { KEYS, newDataFolder, OF_CHILDREN } from '../../support/server.ts';
import { allMessages } from '../../support/unread-model.ts';
import { download } from '../../support/uploads.ts';
import { endWorld, startWorld } from '../../support/world.ts';
import { envOf, filled } from './support.ts';

/** The commands of one section, block by block, verbatim. */
const blocksOf = (section: string): string[][] => {
  const page = readFileSync('docs/operations.md', 'utf8');
  const [, text = ''] = page.split(`\n${section}\n`);
  const [own = ''] = text.split(/\n#{2,3} /);
  return [...own.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) => block.trimEnd().split('\n'));
};

describe('The procedure for backups of embedded stores', () => {
  after(endWorld);

  it('works as written', async function () {
    this.timeout(400_000);
    const [before = [], after = []] = blocksOf('### Embedded stores');
    expect([before.length, after.length]).to.deep.equal([2, 2]);
    const world = await startWorld();
    const made = await filled(world);
    const { dataDir } = world.server;
    const folder = await newDataFolder();
    const places = {
      '/backups/data': join(folder, 'data'),
      '/vault/keys': join(folder, 'keys'),
      '/srv/data': dataDir,
    };
    const run = async (line: string): Promise<void> => {
      const own = Object.entries(places).reduce((text, [from, to]) => text.replaceAll(from, to), line);
      const [, variable, value, args] = /^(?:(DATA_DIR)=(\S+) )?npm run -s admin -- (.+)$/.exec(own) ?? [];
      expect(args, line).to.be.a('string');
      const env = { ...envOf(dataDir), ...(variable === undefined ? {} : { [variable]: value ?? '' }) };
      const { code, stdout, stderr } = await admin((args ?? '').split(' '), env, '', 90_000);
      expect([code, stdout], `${line}\n${stderr}`).to.deep.equal([0, '']);
    };
    for (const line of before) await run(line);
    const messages = await allMessages(made.ada, made.chat);
    const [drill = []] = blocksOf('### A restore drill');
    await mkdir(join(folder, 'drill'));
    await writeFile(join(folder, 'master-key'), `${KEYS.MASTER_KEY}\n`);
    const spare = {
      ...places,
      '/vault/master-key': join(folder, 'master-key'),
      '/drill': join(folder, 'drill'),
      '3999': String(await freePort()),
    };
    const script = Object.entries(spare).reduce(
      (text, [from, to]) => text.replaceAll(from, to),
      drill.join('\n'),
    );
    const { MASTER_KEY: _, ...others } = KEYS;
    const options = {
      env: { ...OF_CHILDREN, ...others, NODE_ENV: 'production', EMBEDDING_MODEL: 'off' },
      timeout: 90_000,
    };
    const { stdout } = await promisify(execFile)('bash', ['--norc', '-c', script], options);
    expect(stdout.trimEnd().split('\n').at(-1)).to.equal('the backup can be restored');
    expect(existsSync(join(folder, 'drill/data'))).to.equal(false);

    await world.server.stop();
    await rename(dataDir, join(folder, 'moved-away'));
    for (const line of after) await run(line);
    await world.restart();
    await world.ready();
    expect(await allMessages(made.ada, made.chat)).to.deep.equal(messages);
    const { bytes } = await download(world.server, made.tenant.admin.token, made.file.id);
    expect(bytes.toString()).to.equal(made.content);
  });
});
