import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { keyed } from '../../support/client.ts';
import { startEventStoreDb, type TestEventStoreDb } from '../../support/eventstoredb/start.ts';
import { findIn } from '../../support/files.ts';
import { describeWithMongo, type TestDatabase } from '../../support/mongodb-server.ts';
import { eventually, KEYS, newDataFolder } from '../../support/server.ts';
import { liveMessage } from '../../support/shapes.ts';
import { listen } from '../../support/socket.ts';
import { verdictOfArgs } from '../../support/verifiers.ts';
import { BASE, endWorld, startWorld, type TestTenant, type World } from '../../support/world.ts';
import { GONE } from '../erasure/support.ts';
import { move, posted, REPORTS, withBooks } from '../ledger/support.ts';
import {
  blocksOf,
  exportedLines,
  proofOf,
  publicKeyIn,
  type Ran,
  runAsWritten,
  seen,
} from './move-support.ts';
import { envOf, type Filled, filled } from './support.ts';

await describeWithMongo('A move of all data between the embedded stores and the servers', (title, start) => {
  describe(title, function () {
    this.timeout(420_000);
    let events: TestEventStoreDb;
    let database: TestDatabase;
    let world: World;
    let made: Filled;
    let books: TestTenant;

    before(async () => {
      events = await startEventStoreDb();
      database = start();
      // Embedded stores, even when other suites use a server.
      world = await startWorld({ env: { EVENTSTORE_URL: undefined } });
      made = await filled(world);
      books = await withBooks(world);
      await posted(books.admin.api, { date: '2026-05-05', lines: move('1000', '3000', 700) });
    });
    after(async () => {
      await endWorld();
      await events?.stop();
      await database?.dispose();
    });

    const succeeded = ({ code, stdout, stderr }: Ran): void => {
      expect([code, stdout], stderr).to.deep.equal([0, '']);
      for (const secret of Object.values(KEYS)) expect(stderr).not.to.contain(secret);
    };
    const kept = async (folder: string, name: string, text: string): Promise<string> => {
      await writeFile(join(folder, name), text);
      return join(folder, name);
    };

    it('works as docs/stores.md says, there and back, and changes nothing that people or auditors see', async () => {
      const { ada, ben, chat, tenant } = made;
      const folder = await newDataFolder();
      const servers = { EVENTSTORE_URL: events.url, MONGODB_URL: database.databaseUrl };
      const places = {
        '/moves/data': join(folder, 'data'),
        '/moves/back': join(folder, 'back'),
        '/vault/keys': join(folder, 'keys'),
        '/vault/keys-back': join(folder, 'keys-back'),
        '/srv/next': join(folder, 'next'),
        '/srv/embedded': join(folder, 'embedded'),
        'esdb://127.0.0.1:2113?tls=false': events.url,
        'mongodb://127.0.0.1:27017/workflow?directConnection=true': database.databaseUrl,
      };
      const path = `${BASE}/${chat}/messages`;
      const post = async (body: string) => {
        const answer = await ada.api.post(path, { body }, keyed(body.replaceAll(' ', '-')));
        return { id: answer.as(liveMessage, 201).id, position: answer.header('x-event-position') };
      };
      const stateAt = async (position: string | undefined): Promise<unknown> =>
        (
          await tenant.admin.api.get(
            `/api/v1/tenant/audit/streams/${tenant.id}.user-${ada.id}/state?at=${position}`,
          )
        ).json;
      type Posted = Awaited<ReturnType<typeof post>>;
      /** Uses positions from before and after a move: as a socket's `after`, `X-Min-Position` and `as_of_position`. */
      const usePositions = async ([start, ...later]: readonly Posted[], report: string): Promise<Posted> => {
        const socket = await listen(world.server, ben.token, { after: start?.position ?? '' });
        const live = await post(`live after ${later.length}`);
        const envelopes = await socket.messages(later.length + 1, 120_000);
        const heard = envelopes.map(({ message, position }) => ({ id: message.id, position }));
        expect(heard, 'envelopes').to.deep.equal([...later, live]);
        expect(socket.seen, 'no other frame but the ready').to.have.length(heard.length + 1);
        socket.close();
        later.push(live);
        for (const { id, position = '' } of later) {
          const answer = await ben.api.get(path, { headers: { 'x-min-position': position } });
          expect(answer.status).to.equal(200);
          expect(answer.text).to.contain(id);
        }
        expect(await reportAt(start?.position), 'as of the position').to.equal(report);
        return live;
      };
      const reportAt = async (position: string | undefined): Promise<string> =>
        (await books.admin.api.get(`${REPORTS}/trial-balance?to=2026-12-31&as_of_position=${position}`)).text;
      /** Checks the former heads and the new one against the whole log. */
      const verified = async (name: string, former: readonly string[]): Promise<string> => {
        const proof = await proofOf(made);
        const lines = await kept(folder, `${name}.ndjson`, await exportedLines(made));
        for (const [nth, head] of [...former, proof].entries()) {
          const file = await kept(folder, `${name}-${nth}.proof`, head);
          const args = ['--export', lines, '--proof', file, '--public-key', publicKeyIn(former[0] ?? proof)];
          const verdict = await verdictOfArgs(args);
          expect(verdict, `head ${nth} on ${name}`).to.deep.include({ verified: true, fault: null });
        }
        return proof;
      };

      const ready = () =>
        eventually('ready', async () => (await world.anybody.get('/health/ready')).status === 200, 90_000);

      const start = await post('the first one');
      const report = await reportAt(start.position);
      expect(report).to.contain('700');
      await posted(books.admin.api, { date: '2026-05-06', lines: move('1000', '3000', 99) });
      const first = await post('before the move');
      const before = await seen(world, made);
      const linesBefore = await exportedLines(made);
      expect(linesBefore.split('\n').length).to.be.greaterThan(10);
      const stateBefore = await stateAt(first.position);
      const proofBefore = await verified('embedded', []);
      const { dataDir } = world.server;
      await world.server.stop();

      succeeded(await runAsWritten(blocksOf('move'), places, envOf(dataDir)));
      expect(await findIn(places['/moves/data'], KEYS)).to.deep.equal([]);
      await world.restart({ DATA_DIR: places['/srv/next'], ...servers });
      await ready();
      expect(await seen(world, made)).to.deep.equal(before);
      expect(before.users.find(({ id }) => id === made.gone)).to.deep.include(GONE);
      expect((await exportedLines(made)).startsWith(linesBefore), 'every byte and position').to.equal(true);
      expect(await exportedLines(made, `?after=${first.position}`)).to.equal('');
      expect(await stateAt(first.position)).to.deep.equal(stateBefore);
      expect(await post('before the move'), 'the stored answer').to.deep.equal(first);
      const second = await post('on the servers');
      expect((second.position ?? '') > (first.position ?? '~')).to.equal(true);
      const live = await usePositions([start, first, second], report);
      const proofBetween = await verified('servers', [proofBefore]);
      const between = await seen(world, made);
      const linesBetween = await exportedLines(made);
      await world.server.stop();
      const all = await runAsWritten(
        ['npm run -s admin -- verify-data'],
        {},
        {
          ...envOf(places['/srv/next']),
          ...servers,
        },
      );
      succeeded(all);

      succeeded(await runAsWritten(blocksOf('back'), places, { ...envOf(places['/srv/next']), ...servers }));
      await world.restart({ DATA_DIR: places['/srv/embedded'] });
      await ready();
      expect(await seen(world, made)).to.deep.equal(between);
      expect((await exportedLines(made)).startsWith(linesBetween), 'every byte and position').to.equal(true);
      expect(await post('before the move')).to.deep.equal(first);
      expect(await post('on the servers')).to.deep.equal(second);
      const third = await post('back again');
      expect((third.position ?? '') > (second.position ?? '~')).to.equal(true);
      await usePositions([start, first, second, live, third], report);
      await verified('back', [proofBefore, proofBetween]);
      await world.server.stop();
      succeeded(await runAsWritten(['npm run -s admin -- verify-data'], {}, envOf(places['/srv/embedded'])));
    });
  });
});
