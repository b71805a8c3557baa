import { expect } from 'chai';
import { MongoClient } from 'mongodb';
import { untilPasses } from './eventually.ts';
import { type OwnMongo, startOwnMongo } from './mongodb-server.ts';

describe("A suite's own FerretDB", () => {
  let server: OwnMongo;

  before(async function () {
    const started = await startOwnMongo();
    if ('unavailable' in started) {
      console.log(`      ${started.unavailable}: the test is skipped`);
      return void this.skip();
    }
    server = started;
  });
  after(() => server?.stop());

  const ping = async (): Promise<void> => {
    await using client = new MongoClient(server.url, { serverSelectionTimeoutMS: 500 });
    await client.db('test').command({ ping: 1 });
  };

  it('is started again when it dies by itself, and stays away when the suite has killed it', async () => {
    const { pid } = server;
    if (pid === undefined) throw new Error('the server has no process');
    process.kill(pid, 'SIGKILL');
    await untilPasses(async () => {
      expect(server.pid).not.to.equal(pid);
      await ping();
    });
    await server.kill();
    expect(await ping().catch(() => 'away')).to.equal('away');
    await server.restart();
    await ping();
  });
});
