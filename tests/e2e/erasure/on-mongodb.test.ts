import { expect } from 'chai';
import { Binary } from 'mongodb';
import { findInText } from '../../support/files.ts';
import { describeWithMongo } from '../../support/mongodb-server.ts';
import { onMongo } from '../../support/mongodb-world.ts';
import { user, users } from '../../support/shapes.ts';
import { USERS } from '../../support/world.ts';
import { forgotten, GONE, mark, PASSWORD } from './support.ts';

interface Row {
  readonly _id: string;
  readonly wrapped: Binary | null;
}

await describeWithMongo('Forgetting with keys and read models in MongoDB', (title, start) => {
  describe(title, () => {
    const on = onMongo(start);

    it('destroys the key there, and again after a restore of an older key', async function () {
      this.timeout(120_000);
      const { db, world } = on();
      const keys = db.collection<Row>('data_keys');
      const tenant = await world.tenant();
      const [email, name] = [`${mark('forgetmail')}@people.example`, mark('Forgetname')];
      const body = { email, display_name: name, role: 'operator', password: PASSWORD };
      const { id } = (await tenant.admin.api.post(USERS, body)).as(user, 201);
      const _id = `${tenant.id}/person-${id}`;
      const before = await keys.findOne({ _id });
      expect(before?.wrapped).to.be.instanceOf(Binary);
      await forgotten(tenant.admin, { id });
      expect((await keys.findOne({ _id }))?.wrapped).to.equal(null);
      await world.server.stop();
      await keys.updateOne({ _id }, { $set: { wrapped: before?.wrapped ?? null } });
      await keys.deleteOne({ _id: 'platform/erasures-applied' });
      await world.restart();
      expect((await keys.findOne({ _id }))?.wrapped, 'before it was ready').to.equal(null);
      await world.ready();
      const list = await tenant.admin.api.get(USERS);
      expect(list.as(users).find((each) => each.id === id)).to.deep.include(GONE);
      expect(findInText(list.text, { email, name })).to.deep.equal([]);
      (await tenant.admin.api.post(USERS, { email, display_name: 'Next', role: 'operator' })).as(user, 201);
    });
  });
});
