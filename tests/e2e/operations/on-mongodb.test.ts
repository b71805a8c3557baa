import { expect } from 'chai';
import { admin } from '../../support/admin-cli.ts';
import { describeWithMongo } from '../../support/mongodb-server.ts';
import { onMongo } from '../../support/mongodb-world.ts';
import { say, talk } from '../../support/world.ts';
import { envOf } from './support.ts';

await describeWithMongo('A check of data with read models and keys in MongoDB', (title, start) => {
  describe(title, function () {
    this.timeout(240_000);
    const on = onMongo(start);

    it('finds nothing while a server runs, and names the document that was changed', async () => {
      const { database, db, world } = on();
      const tenant = await world.tenant();
      const [ada, ben] = [await tenant.person('Ada'), await tenant.person('Ben')];
      const chat = await talk(ada, ben);
      const sent = await say(ada, chat, 'one');
      for (let nth = 0; nth < 5; nth += 1) await say(ben, chat, `more ${nth}`);
      const env = { ...envOf(world.server.dataDir), MONGODB_URL: database.databaseUrl };
      const sound = await admin(['verify-data'], env, '', 120_000);
      expect([sound.code, sound.stdout], sound.stderr).to.deep.equal([0, '']);
      const name = (await db.listCollections().toArray())
        .map((each) => each.name)
        .find((each) => /^conversations@v[0-9.]+\.messages$/.test(each));
      const messages = db.collection<{ _id: string }>(name ?? 'none');
      const one = { _id: `${tenant.id}/${sent.id}`, 'value.sender_user_id': ada.id };
      const { modifiedCount } = await messages.updateOne(one, { $set: { 'value.sender_user_id': ben.id } });
      expect(modifiedCount).to.equal(1);
      const { code, stdout } = await admin(['compare-read-models'], env, '', 120_000);
      expect([code, stdout]).to.deep.equal([
        1,
        `changed conversations messages ${tenant.id} ${sent.id}: differs from what the log produces\n`,
      ]);
    });

    it('ends when a store is refused after others were opened', async () => {
      const { database, world } = on();
      const env = { ...envOf(world.server.dataDir), MONGODB_URL: database.databaseUrl };
      const other = { ...env, MASTER_KEY: 'another-master-key-of-at-least-32-bytes' };
      const args = ['create-platform-admin', '--email', 'second@platform.example'];
      const { code, stderr } = await admin(args, other, 'long-enough-1', 30_000);
      expect([code, stderr]).to.deep.equal([
        1,
        'MASTER_KEY is not the one that the data in the key store was sealed with.\n',
      ]);
    });
  });
});
