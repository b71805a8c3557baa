import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect } from 'chai';
import { z } from 'zod';
import { scrapeOf } from '../../support/metrics.ts';
import { newRecord } from '../../support/records.ts';
import { eventually, randomName } from '../../support/server.ts';
import { forSuite } from '../../support/suite.ts';
import { FILE_LIMIT, filesOf } from '../../support/uploads.ts';
import { sharedWorld } from '../../support/world.ts';
import { define, ENTITIES } from '../entities/support.ts';
import { entitle } from '../ledger/support.ts';
import { numbers, pooled } from './busy-tenant.ts';

/** Limits of the plan `free` (domain/tenancy/quotas.ts). */
const MOST_ENTITIES = 500;
const MOST_ACCOUNTS = 1000;
const UPLOADS = 2 * 1024 ** 3;

describe('The plan of a tenant', () => {
  const here = forSuite(async () => {
    const world = await sharedWorld();
    return { world, tenant: await world.tenant() };
  });

  const refusals = async (limit: string): Promise<number> => {
    const { text } = await here().world.anybody.get('/metrics');
    return scrapeOf(text).value('workflow_requests_refused_total', { limit }) ?? 0;
  };

  it('limits its entities, and names limit and use in the refusal', async () => {
    const { tenant } = here();
    const before = await refusals('entities');
    const create = (name = randomName('e'), options = {}) => {
      const fields = [{ key: 'a', label: 'A', type: 'text' }];
      return tenant.admin.api.post(ENTITIES, { name, label: 'One', fields }, options);
    };
    const keyed = { headers: { 'idempotency-key': 'the first entity' } };
    const created = await create('first_entity', keyed);
    await pooled(numbers(MOST_ENTITIES - 1), 8, async () => {
      const { status, text } = await create();
      if (status !== 201) throw new Error(text);
    });
    // The count of entities is in a read model, which follows a moment later.
    await eventually('an entity is refused', async () => (await create()).status === 422);
    const refused = await create();
    expect(refused.error).to.equal('quota_exceeded');
    const another = await create(randomName('e'), { headers: { 'idempotency-key': 'another entity' } });
    expect(another.error, 'a request with a key').to.equal('quota_exceeded');
    expect((await create('first_entity', keyed)).json, 'a repeated request').to.deep.equal(created.json);
    const { details } = z.object({ details: z.record(z.string(), z.unknown()) }).parse(refused.json);
    expect(details).to.include({ limit: 'entities', max: MOST_ENTITIES });
    // Requests that are under way are not counted yet.
    expect(details.used).to.be.within(MOST_ENTITIES, MOST_ENTITIES + 50);
    expect(await refusals('entities')).to.be.greaterThan(before);
    const other = await here().world.tenant();
    await define(other.admin, { key: 'a', type: 'text' });
  }).timeout(120_000);

  it('limits its accounts exactly, since reports read all accounts', async () => {
    const { world } = here();
    const tenant = await world.tenant();
    await entitle(world, tenant);
    const open = (nth: number) =>
      tenant.admin.api.post('/api/v1/tenant/gl/accounts', { code: `A${nth}`, name: 'One', type: 'Asset' });
    const statuses: number[] = [];
    await pooled(numbers(MOST_ACCOUNTS + 20), 16, async (nth) => {
      statuses.push((await open(nth)).status);
    });
    expect(statuses.filter((status) => status === 201)).to.have.length(MOST_ACCOUNTS);
    const refused = await open(MOST_ACCOUNTS + 20);
    expect([refused.status, refused.error]).to.deep.equal([422, 'quota_exceeded']);
    const { details } = z.object({ details: z.record(z.string(), z.unknown()) }).parse(refused.json);
    expect(details).to.deep.equal({ limit: 'accounts', max: MOST_ACCOUNTS, used: MOST_ACCOUNTS });
    expect(await refusals('accounts')).to.be.greaterThan(0);
    expect((await open(0)).error).to.equal('already_exists');
  }).timeout(120_000);

  it('counts uploads that are under way, so that many at once cannot exceed the limit of files', async () => {
    const { world } = here();
    const tenant = await world.tenant();
    const path = filesOf(await newRecord(tenant));
    const head =
      `POST ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${tenant.admin.token}\r\n` +
      `Content-Type: multipart/form-data; boundary=b\r\nContent-Length: ${FILE_LIMIT}\r\n\r\n` +
      '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nbegun';
    const sockets: Socket[] = [];
    const answers: string[] = [];
    const begin = async (): Promise<void> => {
      const socket = connect(world.server.port, '127.0.0.1');
      socket.on('error', () => undefined);
      socket.on('data', (data) => answers.push(data.toString()));
      await once(socket, 'connect');
      sockets.push(socket);
      socket.write(head);
    };
    for (let nth = 0; nth < Math.floor(UPLOADS / FILE_LIMIT); nth += 1) await begin();
    await eventually('a further upload is refused', async () => {
      await begin();
      return answers.length > 0;
    });
    expect(answers[0]).to.match(/^HTTP\/1\.1 422 /);
    expect(answers.join('')).to.include('"quota_exceeded"').and.include('"limit":"uploads"');
    for (const socket of sockets) socket.destroy();
  }).timeout(120_000);
});
