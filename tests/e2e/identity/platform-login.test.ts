import { expect } from 'chai';
import { z } from 'zod';
import { ROOT, randomName } from '../../support/server.ts';
import { BASE, endWorld, sharedWorld, type World } from '../../support/world.ts';

describe('Signing in as a platform admin', () => {
  let world: World;

  before(async () => {
    world = await sharedWorld();
  });
  after(endWorld);

  const enter = (body: unknown, path = '/auth/login') => world.anybody.post(path, body);

  const fresh = (): string => `${randomName('Someone').replace('_', '.')}@People.example`;

  it('accepts the platform admin of the environment, at both paths', async () => {
    const shape = z.strictObject({
      token: z.string(),
      token_type: z.literal('Bearer'),
      expires_in: z.literal(28_800),
    });
    for (const path of ['/super/auth/login', '/api/v1/super/auth/login']) {
      for (const email of [ROOT.email, ROOT.email.toUpperCase()]) {
        const { token } = (await enter({ email, password: ROOT.password }, path)).as(shape);
        expect((await world.anybody.with(token).get('/super/tenants')).status).to.equal(200);
        expect((await world.anybody.with(token).get(BASE)).status).to.equal(401);
      }
      const wrong = await enter({ email: ROOT.email, password: 'not the password' }, path);
      const unknown = await enter({ email: fresh(), password: ROOT.password }, path);
      expect([wrong.status, wrong.text]).to.deep.equal([401, unknown.text]);
    }
  });
});
