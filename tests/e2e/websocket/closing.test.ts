import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { atPresentPace } from '../../support/pace.ts';
import { type Exit, eventually } from '../../support/server.ts';
import { liveMessage } from '../../support/shapes.ts';
import { listen, refusal } from '../../support/socket.ts';
import { adaAndBen, forSuite } from '../../support/suite.ts';
import { now, tenantToken } from '../../support/tokens.ts';
import { BASE, say, startWorld, USERS } from '../../support/world.ts';

describe('Sockets', () => {
  const here = forSuite(() => adaAndBen(startWorld));

  const openCount = async (): Promise<number> => {
    const { text } = await here().world.anybody.get('/metrics');
    return Number(/^workflow_websockets_open (\d+)$/m.exec(text)?.[1]);
  };

  it('ignore frames of up to 64 KiB', async () => {
    const { world, ada, ben, id } = here();
    const socket = await listen(world.server, ada.token);
    for (const frame of [
      '',
      'x',
      '{',
      '{"kind":"subscribe"}',
      'x'.repeat(64 * 1024),
      randomBytes(64 * 1024),
    ]) {
      socket.raw.send(frame);
    }
    socket.raw.send('['.repeat(60_000));
    for (let i = 0; i < 500; i += 1) socket.raw.send('flood');
    const sent = await say(ben, id, 'still there');
    expect((await socket.messages(1))[0]?.message.id).to.equal(sent.id);
    expect(socket.seen).to.have.length(2);
    socket.close();
  });

  it('close with 1009 for a frame beyond 64 KiB', async () => {
    const { world, ada } = here();
    for (const frame of ['x'.repeat(64 * 1024 + 1), randomBytes(1024 * 1024)]) {
      const socket = await listen(world.server, ada.token);
      socket.raw.send(frame);
      expect((await socket.closed).code).to.equal(1009);
    }
  });

  it('close with 4401 when the token expires, and not before', async () => {
    const { world, ada, ben, id } = here();
    const exp = now() + 2;
    const socket = await listen(world.server, tenantToken(ada, { exp }));
    const sent = await say(ben, id, 'in time');
    expect((await socket.messages(1))[0]?.message.id).to.equal(sent.id);
    expect((await socket.closed).code).to.equal(4401);
    expect(Date.now()).to.be.within(exp * 1000 - 20, exp * 1000 + 1500);
    expect((await refusal(world.server, tenantToken(ada, { exp }))).error).to.equal('credential_expired');
  });

  it('close with 4403 when the user is deactivated, while those of other users stay open', async () => {
    const { world, tenant, ada, ben, id } = here();
    const cy = await tenant.person('Cy');
    const sockets = [await listen(world.server, cy.token), await listen(world.server, cy.token)];
    const other = await listen(world.server, ada.token);
    await tenant.admin.api.patch(`${USERS}/${cy.id}`, { status: 'deactivated' });
    for (const socket of sockets) expect((await socket.closed).code).to.equal(4403);
    expect((await refusal(world.server, cy.token)).status).to.equal(401);
    await say(ben, id, 'x');
    await other.messages(1);
    other.close();
  });

  it('close with 4403 when the tenant is suspended, while those of other tenants stay open', async () => {
    const { world, ada, ben, id } = here();
    const home = await world.tenant();
    const socket = await listen(world.server, home.admin.token);
    const other = await listen(world.server, ada.token);
    await world.platform.patch(`/super/tenants/${home.id}`, { status: 'suspended' });
    expect((await socket.closed).code).to.equal(4403);
    expect((await refusal(world.server, home.admin.token)).status).to.equal(403);
    await say(ben, id, 'x');
    await other.messages(1);
    other.close();
  });

  it('are closed when their peer stops reading, while others get everything', async function () {
    this.timeout(40_000);
    const { world, ada, ben, id } = here();
    await eventually('no socket', async () => (await openCount()) === 0);
    const eager = await listen(world.server, ada.token);
    const lazy = await listen(world.server, ben.token);
    const before = await openCount();
    lazy.raw.pause();
    const body = '😀'.repeat(10_000);
    const sent: string[] = [];
    await eventually(
      'the closing',
      async () => {
        const batch = await Promise.all(
          Array.from({ length: 20 }, () => ada.api.post(`${BASE}/${id}/messages`, { body })),
        );
        sent.push(...batch.map((answer) => answer.as(liveMessage, 201).id));
        return (await openCount()) < before;
      },
      25_000,
    );
    const got = await eager.messages(sent.length, 10_000);
    expect(got.map((one) => one.message.id).sort()).to.deep.equal([...sent].sort());
    lazy.raw.resume();
    // The close frame follows unread data; a peer that is cut off first sees 1006.
    expect((await lazy.closed).code).to.be.oneOf([4413, 1006]);
    eager.close();
  });

  it('that disappear are dropped', async () => {
    const { world, ada } = here();
    // Sockets of earlier tests may still be closing.
    await eventually('no socket', async () => (await openCount()) === 0);
    const socket = await listen(world.server, ada.token);
    expect(await openCount()).to.equal(1);
    socket.raw.terminate();
    await eventually('no socket again', async () => (await openCount()) === 0);
  });

  describe('of a server that stops', () => {
    let codes: Promise<number[]>;
    let exit: Exit;
    let took = 0;

    before(async () => {
      const { world, ada, ben } = here();
      const silent = await listen(world.server, ada.token);
      silent.raw.pause();
      const sockets = [await listen(world.server, ada.token), await listen(world.server, ben.token)];
      codes = Promise.all(sockets.map(async ({ closed }) => (await closed).code));
      const began = performance.now();
      exit = await world.server.stop();
      took = performance.now() - began;
      silent.raw.terminate();
    });

    it('close with 1012 when the server stops', async () => {
      expect(await codes).to.deep.equal([1012, 1012]);
      expect(exit.code).to.equal(0);
    });

    it('do not delay the stop when they do not answer the close frame', async () => {
      expect(exit.code).to.equal(0);
      expect(took).to.be.lessThan(await atPresentPace(4000));
    });
  });
});
