import { expect } from 'chai';
import { eventually } from '../../support/server.ts';
import { liveMessage, notifications } from '../../support/shapes.ts';
import { type Listening, listen, type MessageEnvelope } from '../../support/socket.ts';
import { adaAndBen, forSuite } from '../../support/suite.ts';
import { BASE, NOTIFICATIONS, say, startWorld, talk, token } from '../../support/world.ts';

describe('Replay after a position', () => {
  const here = forSuite(() => adaAndBen(startWorld));

  const back = (after: string): Promise<Listening> =>
    listen(here().world.server, here().ben.token, { after });
  const idsOf = (envelopes: readonly MessageEnvelope[]) => envelopes.map((one) => one.message.id);
  const leave = async (socket: Listening): Promise<void> => {
    socket.close();
    await socket.closed;
  };

  it('sends missed envelopes exactly once and in order after ready, then live ones', async () => {
    const { tenant, ada, id } = here();
    const first = await listen(here().world.server, here().ben.token);
    await leave(first);
    const missed: string[] = [];
    for (let i = 0; i < 5; i += 1) missed.push((await say(ada, id, `missed ${i}`)).id);
    await say(ada, await talk(ada, tenant.admin), 'not for Ben');
    const socket = await back(first.readyAt);
    expect(socket.readyAt, 'the very position that was given').to.equal(first.readyAt);
    missed.push((await say(ada, id, 'live')).id);
    expect(idsOf(await socket.messages(6))).to.deep.equal(missed);
    expect(socket.seen[0]).to.include({ kind: 'system', event: 'ready' });
    const [third] = (await socket.messages(6)).slice(2, 3);
    await leave(socket);
    const again = await back(third?.position ?? '');
    expect(idsOf(await again.messages(3))).to.deep.equal(missed.slice(3));
    await leave(again);
  });

  it('sends nothing for a position at the end of the log, nor without a position', async () => {
    const { world, ada, ben, id } = here();
    const answer = await ada.api.post(`${BASE}/${id}/messages`, { body: 'before' });
    const written = answer.header('x-event-position') ?? '';
    // `ready` may name a position before the last writes, which then follow live.
    const readyAt = await eventually('the end', async () => {
      const socket = await listen(world.server, ben.token);
      await leave(socket);
      return socket.readyAt >= written && socket.readyAt;
    });
    for (const connect of [() => back(readyAt), () => listen(world.server, ben.token)]) {
      const socket = await connect();
      const fence = await say(ada, id, 'fence');
      expect(idsOf(await socket.messages(1))).to.deep.equal([fence.id]);
      await leave(socket);
    }
  });

  it('sends resync for a position after the end of the log, and stays live', async () => {
    const { ada, id } = here();
    const socket = await back('00000000ffffffff');
    expect(await eventually('resync', () => socket.seen[1])).to.include({ kind: 'system', event: 'resync' });
    const fence = await say(ada, id, 'fence');
    expect(idsOf(await socket.messages(1))).to.deep.equal([fence.id]);
    await leave(socket);
  });

  it('joins missed and live envelopes without gap or duplicate while writers race', async () => {
    const { ada, ben, id } = here();
    const start = (await listen(here().world.server, here().ben.token)).readyAt;
    let writing = true;
    /** Grows with each connection, during which messages are written. */
    let allowed = 0;
    const sent: string[] = [];
    const got: MessageEnvelope[] = [];
    const writers = [ada, ben, ada, ben].map(async (who, w) => {
      for (let i = 0; writing; i += 1) {
        await eventually('the next connection', () => !writing || sent.length < allowed);
        sent.push((await say(who, id, `race ${w} ${i}`)).id);
      }
    });
    let after = start;
    for (let round = 0; round < 8; round += 1) {
      allowed = sent.length + 40;
      const socket = await back(after);
      await socket.messages(10);
      await leave(socket);
      // Includes frames that arrived just before the close.
      const part = socket.seen.filter((one) => one.kind === 'message');
      got.push(...part);
      after = part.at(-1)?.position ?? after;
    }
    writing = false;
    await Promise.all(writers);
    const last = await back(after);
    await eventually('the rest', () => got.length + last.seen.length - 1 >= sent.length);
    got.push(...last.seen.filter((one) => one.kind === 'message'));
    const ids = idsOf(got);
    expect(new Set(ids).size, 'repetitions').to.equal(ids.length);
    expect([...ids].sort()).to.deep.equal([...sent].sort());
    const positions = got.map((one) => one.position);
    expect(positions).to.deep.equal([...positions].sort());
    await leave(last);
  });

  it('survives a restart of the server', async () => {
    const { world, ada, ben, id } = here();
    const { readyAt } = await listen(world.server, ben.token);
    const sent = await say(ada, id, 'before the restart');
    await world.server.stop();
    await world.restart();
    const later = await say(ada, id, 'after the restart');
    const socket = await back(readyAt);
    expect(idsOf(await socket.messages(2))).to.deep.equal([sent.id, later.id]);
    await leave(socket);
  });

  it('omits texts of messages and snippets that were deleted since', async () => {
    const { world, ada, ben, id } = here();
    const { readyAt } = await listen(world.server, ben.token);
    const gone = await say(ada, id, `a text to forget, ${token(ben)}`);
    const edited = await say(ada, id, 'a first version');
    await ada.api.patch(`${BASE}/${id}/messages/${edited.id}`, { body: 'a second version' });
    await eventually('the notification', async () => {
      const found = (await ben.api.get(NOTIFICATIONS)).as(notifications);
      return found.some((one) => one.note_id === gone.id);
    });
    await ada.api.delete(`${BASE}/${id}/messages/${gone.id}`);
    await ada.api.delete(`${BASE}/${id}/messages/${edited.id}`);
    const fence = await say(ada, id, 'fence');
    const socket = await back(readyAt);
    await eventually('the fence', () =>
      socket.seen.some((one) => one.kind === 'message' && one.message.id === fence.id),
    );
    const text = JSON.stringify(socket.seen);
    expect(text).not.to.contain('forget').and.not.to.contain('version');
    await leave(socket);
  });

  it('is limited to 1,000 envelopes; above that it sends resync, then live ones', async function () {
    this.timeout(120_000);
    const { world, ada, ben, id } = here();
    const start = (await listen(world.server, ben.token)).readyAt;
    const send = async (count: number): Promise<void> => {
      for (let i = 0; i < count; i += 50) {
        await Promise.all(
          Array.from({ length: Math.min(50, count - i) }, async (_, k) => {
            const answer = await ada.api.post(`${BASE}/${id}/messages`, { body: `many ${i + k}` });
            answer.as(liveMessage, 201);
          }),
        );
      }
    };
    await send(1000);
    const whole = await back(start);
    expect(new Set(idsOf(await whole.messages(1000, 40_000))).size).to.equal(1000);
    expect(whole.seen.some((one) => one.kind === 'system' && one.event === 'resync')).to.equal(false);
    await leave(whole);
    await send(1);
    const tooMuch = await back(start);
    const resync = await eventually('resync', () => tooMuch.seen[1]);
    expect(resync).to.include({ kind: 'system', event: 'resync' });
    const fence = await say(ada, id, 'fence');
    expect(idsOf(await tooMuch.messages(1))).to.deep.equal([fence.id]);
    expect(tooMuch.seen).to.have.length(3);
    await leave(tooMuch);
  });
});
