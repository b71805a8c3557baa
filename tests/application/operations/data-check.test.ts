import { expect } from 'chai';
import { dataOf, EventCodec } from '../../../application/core/events/event-codec.ts';
import { Erasures } from '../../../application/core/privacy/erasures.ts';
import { textKeyOf, webhookKeyId } from '../../../application/core/privacy/key-ids.ts';
import { KeyRing } from '../../../application/core/privacy/key-ring.ts';
import { checkLog } from '../../../application/operations/data-check.ts';
import { KeyCheck } from '../../../application/operations/key-check.ts';
import { type Finding, LogCheck } from '../../../application/operations/log-check.ts';
import type { EventStore } from '../../../application/ports/event-store.ts';
import type { ReadStore } from '../../../application/ports/read-store.ts';
import { catalogue } from '../../../domain/catalogue.ts';
import { MessageSent } from '../../../domain/messaging/conversation.ts';
import { fillAuditLog } from '../../support/audit-log.ts';
import { withEachEventStore } from '../../support/event-stores.ts';
import { memoryKeyStore, testLogger } from '../../support/fakes.ts';
import { MASTER_KEY, startNode } from '../../support/node.ts';
import { hook, writeSubscription } from '../webhooks/support.ts';

/** Only the checkpoints of this read store are read. */
const noReads = { subscriberCheckpoints: async () => new Map() } as unknown as ReadStore;

withEachEventStore((open) => {
  describe('A check of a log during writes', () => {
    /** A log with messages, and its checks. */
    const filled = async () => {
      const [events, store] = [await open(), memoryKeyStore()];
      await fillAuditLog(events, store, 'acme', 1200);
      const codec = new EventCodec(catalogue, new KeyRing(store, MASTER_KEY));
      const page = await events.readAll({ filter: { types: [MessageSent.type] }, limit: 5000 });
      const sent = page.flatMap((stored) => {
        const message = dataOf(MessageSent, codec.decode(stored));
        return message === undefined ? [] : [{ stream: stored.stream, ...message }];
      });
      type Sent = (typeof sent)[number];

      const destroy = (message: Sent) => new KeyRing(store, MASTER_KEY).destroy(`acme/${textKeyOf(message)}`);

      /** Erases as the product does: the event, then the key. */
      const erase = async (message: Sent): Promise<void> => {
        const { stream, conversation_id, message_id, sender_user_id, text_key = '' } = message;
        const [last] = await events.readStream(stream, { direction: 'backward', limit: 1 });
        if (last === undefined) throw new Error('no such stream');
        const { revision, hash } = codec.decode(last);
        const data = { conversation_id, message_id, sender_user_id, sent_at: '', text_key };
        const id = crypto.randomUUID();
        const event = { id, type: 'MessageDeleted', data, at: Date.UTC(2027, 0, 1) };
        const cause = { actor: { kind: 'user', id: 'ann' }, correlationId: id, causationId: id } as const;
        const { stored } = codec.encode(stream, 'acme', { revision, hash }, event, cause);
        await events.append(stream, revision, [stored]);
        await destroy(message);
      };

      const check = async (log: EventStore): Promise<Finding[]> => {
        const keys = new KeyRing(store, MASTER_KEY);
        const erasures = new Erasures({ events: log, codec, keys, store, logger: testLogger() });
        const findings: Finding[] = [];
        const deps = {
          events: log,
          codec,
          keys: new KeyCheck({ catalogue, keys, erasures }),
          heads: undefined,
          reads: noReads,
          isNext: () => true,
        };
        await checkLog(deps, (finding) => findings.push(finding));
        return findings;
      };

      /** The log with work that runs right after the end of the log was read. */
      const meanwhile = (work: () => Promise<void>): EventStore => {
        let left: (() => Promise<void>) | undefined = work;
        return new Proxy(events, {
          get: (target, name) => {
            if (name === 'end') {
              return async () => {
                const end = await target.end();
                const now = left;
                left = undefined;
                await now?.();
                return end;
              };
            }
            const member: unknown = Reflect.get(target, name, target);
            return typeof member === 'function' ? member.bind(target) : member;
          },
        });
      };
      return { events, store, sent, erase, destroy, check, meanwhile };
    };

    it('finds no fault, also when texts that are not checked yet are erased', async () => {
      const { sent, erase, check, meanwhile } = await filled();
      expect(sent.length).to.be.greaterThan(100);
      const log = meanwhile(async () => {
        for (const message of sent.slice(0, 100)) await erase(message);
      });
      expect(await check(log)).to.deep.equal([]);
      expect(await check(log), 'again').to.deep.equal([]);
    }).timeout(60_000);

    it('names a key missing without an event, also while others are erased', async () => {
      const { sent, erase, destroy, check, meanwhile } = await filled();
      const [lost, ...others] = sent;
      if (lost === undefined) throw new Error('no message');
      const log = meanwhile(async () => {
        await destroy(lost);
        for (const message of others.slice(0, 20)) await erase(message);
      });
      expect((await check(log)).map(({ kind, what }) => [kind, what])).to.deep.equal([
        ['missing_key', `acme/${textKeyOf(lost)}`],
      ]);
    }).timeout(60_000);

    it('names the destroyed key of a webhook that no event has deleted', async () => {
      const { events, store, check } = await filled();
      const node = startNode({ events, keyStore: store });
      await writeSubscription(node, 'acme', hook('one'));
      expect(await check(events)).to.deep.equal([]);
      await node.keys.destroy(webhookKeyId('acme', 'one'));
      expect((await check(events)).map(({ kind, what }) => [kind, what])).to.deep.equal([
        ['missing_key', 'acme/webhook-one'],
      ]);
    }).timeout(60_000);

    it('names an event whose hash was moved with the same remaining bytes', async () => {
      const { events } = await filled();
      const codec = new EventCodec(catalogue);
      const [event] = await events.readAll({ limit: 1 });
      if (event === undefined) throw new Error('no event');
      const kinds = (metadata: string) =>
        new LogCheck({ codec, isNext: () => true }).take({ ...event, metadata }).map(({ kind }) => kind);
      const [member = ''] = /"hash":"[0-9a-f]{64}",/.exec(event.metadata) ?? [];
      const rest = event.metadata.replace(member, '');
      expect(kinds(event.metadata)).to.deep.equal([]);
      for (const place of ['"$causationId"', '"id"', '"prev_hash"', '"tenant_id"']) {
        expect(kinds(rest.replace(place, `${member}${place}`)), place).to.deep.equal(['changed_event']);
      }
    }).timeout(60_000);
  });
});
