import { expect } from 'chai';
import { z } from 'zod';
import { eventually } from '../../support/server.ts';
import { forSuite } from '../../support/suite.ts';
import { closeReceivers, startReceiver } from '../../support/webhook-receiver.ts';
import { endWorld, sharedWorld } from '../../support/world.ts';
import { edit, preview, SESSIONS } from '../bulk/support.ts';
import { OPEN, subscribe } from '../webhooks/support.ts';
import { at, define, ENTITIES } from './support.ts';

const record = z.looseObject({ id: z.string(), values: z.record(z.string(), z.unknown()) });
const ORDER = ['zebra', 'apple', 'mango', 'beta'];

/** The log sorts keys, so that equal values have equal hashes; answers have the keys in the order of the schema. */
describe('Values keep the order of the schema', () => {
  const here = forSuite(
    async () => {
      const world = await sharedWorld(OPEN);
      const tenant = await world.tenant();
      await world.platform.patch(`/super/tenants/${tenant.id}`, { plan: 'pro' });
      const { api } = tenant.admin;
      const fruit = await define(tenant.admin, ...ORDER.map((key) => ({ key, type: 'text' })));
      return { world, tenant, api, fruit, records: at(fruit) };
    },
    async () => {
      await closeReceivers();
      await endWorld();
    },
  );
  const keysOf = (values: object | null | undefined): string[] => Object.keys(values ?? {});

  it('in the answers to a creation, a change, a read and a list', async () => {
    const { api, records } = here();
    const values = { beta: '4', mango: '3', apple: '2', zebra: '1' };
    const made = (await api.post(records, { values })).as(record, 201);
    expect(keysOf(made.values)).to.deep.equal(ORDER);
    expect(keysOf((await api.get(`${records}/${made.id}`)).as(record).values)).to.deep.equal(ORDER);
    const changed = await api.patch(`${records}/${made.id}`, { values: { mango: null } });
    expect(keysOf(changed.as(record).values)).to.deep.equal(['zebra', 'apple', 'beta']);
    const again = await api.patch(`${records}/${made.id}`, { values: { mango: 'x', zebra: 'y' } });
    expect(keysOf(again.as(record).values)).to.deep.equal(ORDER);
    for (const query of ['', '?sort=-apple', '?filter=zebra == "y"']) {
      for (const one of (await api.get(records + query)).as(z.array(record)))
        expect(keysOf(one.values), query).to.deep.equal(ORDER);
    }
  });

  it('in the body of a webhook', async () => {
    const { tenant, api, records } = here();
    const receiver = await startReceiver();
    await subscribe(tenant.admin, receiver.url, { events: ['entity.created'] });
    await api.post(records, { values: { apple: '2', beta: '4', mango: '3', zebra: '1' } });
    const { body } = await eventually('the delivery', () => receiver.received[0], 20_000);
    expect(body.toString()).to.match(/"values":\{"zebra":"1","apple":"2","mango":"3","beta":"4"\}/);
  });

  it('in the sample of a bulk edit, also in the new order after a change of the schema', async () => {
    const { tenant, api, fruit, records } = here();
    const { id } = (
      await api.post(records, { values: { zebra: '1', apple: '2', mango: '3', beta: '4' } })
    ).as(record, 201);
    const changes = edit({ mango: 'm', beta: 'b', zebra: 'z' });
    const { id: session } = await preview(tenant.admin, fruit, changes, [id]);
    const shown = (await api.get(`${SESSIONS}/${session}`)).as(
      z.looseObject({
        preview: z.looseObject({
          sample_affected: z.array(z.looseObject({ before: z.looseObject({}), after: z.looseObject({}) })),
        }),
      }),
    );
    const [sample] = shown.preview.sample_affected;
    expect(keysOf(sample?.before)).to.deep.equal(['zebra', 'mango', 'beta']);
    expect(keysOf(sample?.after)).to.deep.equal(['zebra', 'mango', 'beta']);
    const turned = [...ORDER].reverse();
    const fields = turned.map((key) => ({ key, label: key, type: 'text', required: false }));
    expect((await api.patch(`${ENTITIES}/${fruit}`, { fields })).status).to.equal(200);
    expect(keysOf((await api.get(`${records}/${id}`)).as(record).values)).to.deep.equal(turned);
  });
});
