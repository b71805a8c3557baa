import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { conversation, deletedMessage, liveMessage, messages } from '../../support/shapes.ts';
import { adaAndBen, forSuite } from '../../support/suite.ts';
import { BASE, type Member, say, talk } from '../../support/world.ts';

describe('Messages', () => {
  const here = forSuite(async () => {
    const start = await adaAndBen();
    return { ...start, outsider: await start.tenant.person('Out') };
  });

  const path = (mid: string): string => `${BASE}/${here().id}/messages/${mid}`;
  const list = async (who: Member, query = '') =>
    (await who.api.get(`${BASE}/${here().id}/messages${query}`)).as(messages);

  describe('a message', () => {
    it('is read by every participant as answered', async () => {
      const { ada, ben, id } = here();
      const sent = await say(ben, id, 'once');
      for (const who of [ada, ben]) expect((await list(who)).at(-1)).to.deep.equal(sent);
    });

    it('has a time that never goes back in its conversation', async () => {
      const { ada, ben, id } = here();
      await Promise.all(Array.from({ length: 60 }, (_, i) => say(i % 2 ? ada : ben, id, `quick ${i}`)));
      const times = (await list(ada, '?limit=200')).map(({ created_at }) => created_at);
      expect(times).to.deep.equal([...times].sort());
    });

    it('sent after a read is later than that read', async () => {
      const { ada, outsider } = here();
      const own = await talk(ada, outsider);
      for (let i = 0; i < 20; i += 1) {
        await ada.api.post(`${BASE}/${own}/read`);
        const sent = await say(outsider, own, 'after');
        const started = await ada.api.post(BASE, { participant_user_ids: [outsider.id] });
        const { participants } = started.as(conversation);
        const read = participants.find(({ user_id }) => user_id === ada.id)?.last_read_at ?? '';
        expect(sent.created_at > read, `${sent.created_at} > ${read}`).to.equal(true);
      }
    });

    it('is changed by its sender, and keeps time and place', async () => {
      const { ada, ben, id } = here();
      const sent = await say(ada, id, 'first');
      const edited = (await ada.api.patch(path(sent.id), { body: 'second' })).as(liveMessage);
      expect(edited).to.deep.include({ id: sent.id, body: 'second', created_at: sent.created_at });
      expect((edited.edited_at ?? '') >= sent.created_at).to.equal(true);
      const again = (await ada.api.patch(path(sent.id), { body: 'third' })).as(liveMessage);
      expect((again.edited_at ?? '') >= (edited.edited_at ?? '')).to.equal(true);
      expect((await list(ben)).at(-1)).to.deep.equal(again);
    });

    it('that is deleted keeps its place without a body, and deleting again changes nothing', async () => {
      const { ada, ben, id } = here();
      const [before, sent, after] = [
        await say(ada, id, 'a'),
        await say(ada, id, 'b'),
        await say(ada, id, 'c'),
      ];
      await ada.api.patch(path(sent.id), { body: 'b2' });
      const deleted = (await ada.api.delete(path(sent.id))).as(deletedMessage);
      expect(deleted).to.deep.include({ id: sent.id, created_at: sent.created_at, sender_user_id: ada.id });
      expect((await list(ben, '?limit=3')).map((one) => one.id)).to.deep.equal([
        before.id,
        sent.id,
        after.id,
      ]);
      expect((await list(ben, '?limit=3'))[1]).to.deep.equal(deleted);
      expect((await ada.api.delete(path(sent.id))).as(deletedMessage)).to.deep.equal(deleted);
      const edit = await ada.api.patch(path(sent.id), { body: 'back' });
      expect([edit.status, edit.error]).to.deep.equal([409, 'invalid_transition']);
      expect(edit.json).to.have.nested.property('details.state');
      expect(edit.json).to.have.nested.property('details.allowed');
    });

    it('is deleted once under concurrent deletions', async () => {
      const { ada, id } = here();
      const sent = await say(ada, id, 'raced');
      const answers = await Promise.all(Array.from({ length: 10 }, () => ada.api.delete(path(sent.id))));
      expect(new Set(answers.map(({ text }) => text)).size).to.equal(1);
      expect(answers[0]?.as(deletedMessage).id).to.equal(sent.id);
    });
  });

  describe('rights', () => {
    it('refuse another participant with not_the_sender', async () => {
      const { ada, ben, id } = here();
      const sent = await say(ada, id, 'mine');
      for (const answer of [
        await ben.api.patch(path(sent.id), { body: 'x' }),
        await ben.api.delete(path(sent.id)),
      ]) {
        expect([answer.status, answer.error]).to.deep.equal([403, 'not_the_sender']);
      }
      await ada.api.delete(path(sent.id));
      const late = await ben.api.patch(path(sent.id), { body: 'x' });
      expect([late.status, late.error]).to.deep.equal([403, 'not_the_sender']);
    });

    it('refuse an outsider, even an admin, with not_a_participant', async () => {
      const { tenant, ada, outsider, id } = here();
      const sent = await say(ada, id, 'ours');
      for (const who of [outsider, tenant.admin]) {
        for (const answer of [
          await who.api.get(`${BASE}/${id}/messages`),
          await who.api.post(`${BASE}/${id}/messages`, { body: 'x' }),
          await who.api.patch(path(sent.id), { body: 'x' }),
          await who.api.patch(path(randomUUID()), { body: 'x' }),
          await who.api.delete(path(sent.id)),
          await who.api.post(`${BASE}/${id}/read`),
        ]) {
          expect([answer.status, answer.error]).to.deep.equal([403, 'not_a_participant']);
        }
      }
    });

    it('answer 404 for an unknown message and for one of another conversation', async () => {
      const { ada, outsider } = here();
      const elsewhere = await say(ada, await talk(ada, outsider), 'there');
      for (const mid of [randomUUID(), 'x', elsewhere.id]) {
        for (const answer of [
          await ada.api.patch(path(mid), { body: 'x' }),
          await ada.api.delete(path(mid)),
        ]) {
          expect([answer.status, answer.error]).to.deep.equal([404, 'not_found']);
        }
      }
    });

    it('allow mark-read with 204 and no body', async () => {
      const { ben, id } = here();
      const answer = await ben.api.post(`${BASE}/${id}/read`);
      expect([answer.status, answer.text]).to.deep.equal([204, '']);
    });
  });
});
