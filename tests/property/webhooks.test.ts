import { expect } from 'chai';
import fc from 'fast-check';
import { countEnd } from '../../domain/webhooks/dead-letters.ts';
import {
  type AttemptOutcome,
  type Delivery,
  deliveryStream,
  recordAttempt,
  requestReplay,
  scheduleDelivery,
} from '../../domain/webhooks/delivery.ts';
import { retryDelayMs } from '../../domain/webhooks/retry-delay.ts';
import {
  changeSubscription,
  createSubscription,
  type Subscriptions,
  subscriptionsStream,
} from '../../domain/webhooks/subscription.ts';

const TABLE = [60, 300, 1800, 7200];

describe('Webhooks after any history', () => {
  const outcome = fc.constantFrom('delivered', 'failed', 'refused');
  const steps = fc.array(
    fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({
          kind: fc.constant('attempt' as const),
          outcome,
          random: fc.float({ min: 0, max: 1, noNaN: true }),
        }),
      },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('replay' as const) }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('late record' as const) }) },
    ),
    { maxLength: 40 },
  );

  it('make attempts in order, at most five and one more for each replay, each when it is due', () => {
    fc.assert(
      fc.property(steps, (list) => {
        let state: Delivery = deliveryStream.initial;
        let now = 0;
        let revision = 0;
        const apply = (events: readonly Parameters<typeof deliveryStream.evolve>[1][]): void => {
          for (const event of events) {
            state = deliveryStream.evolve(state, event, { at: now, revision });
            revision += 1;
          }
        };
        const schedule = {
          id: 'd',
          subscriptionId: 's',
          event: 'e',
          encoding: 'plain',
          bodyParts: ['{}'],
        } as const;
        apply(scheduleDelivery(state, schedule));
        let attempts = 0;
        let replays = 0;
        for (const step of list) {
          if (state.kind !== 'scheduled') throw new Error('it is never gone');
          const before: typeof state = state;
          if (step.kind === 'replay') {
            replays += 1;
            apply(requestReplay(state, { id: `r${replays}`, dueAt: now }));
            continue;
          }
          if (step.kind === 'late record') {
            const late = {
              attempt: attempts,
              replayId: undefined,
              outcome: { kind: 'delivered', responseCode: 200 },
            } as const;
            expect(recordAttempt(state, late, { now })).to.deep.equal([]);
            continue;
          }
          if (state.dueAt === null) continue;
          now = Math.max(now, state.dueAt);
          attempts += 1;
          const delayMs = retryDelayMs({ retrySeconds: TABLE, attempt: attempts, random: step.random });
          const result: AttemptOutcome =
            step.outcome === 'delivered'
              ? { kind: 'delivered', responseCode: 200 }
              : step.outcome === 'refused'
                ? { kind: 'refused', error: 'no' }
                : { kind: 'failed', responseCode: null, error: 'x', delayMs };
          apply(
            recordAttempt(state, { attempt: attempts, replayId: state.replay?.id, outcome: result }, { now }),
          );
          expect(state).to.deep.include({ attempts });
          if (state.kind === 'scheduled' && state.status === 'pending' && state.replay === undefined) {
            expect(step.outcome).to.equal('failed');
            expect((state.dueAt ?? 0) - now).to.be.within(
              (TABLE[attempts - 1] ?? 0) * 1000,
              (TABLE[attempts - 1] ?? 0) * 1101,
            );
            expect(before.ended, 'what had ended is tried by replays alone').to.equal(false);
          }
        }
        expect(attempts).to.be.at.most(5 + replays);
        if (state.kind === 'scheduled') {
          expect(state.status === 'pending').to.equal(state.dueAt !== null);
          expect(state.status === 'dead').to.equal(state.deadAt !== null);
          if (replays === 0 && state.status === 'dead') expect(attempts).to.equal(5);
        }
      }),
    );
  });

  const happening = fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({ kind: fc.constant('dead' as const), delivery: fc.nat({ max: 14 }) }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('delivered' as const), delivery: fc.nat({ max: 14 }) }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('again' as const), back: fc.nat({ max: 30 }) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('activate' as const) }) },
  );

  it('pause a subscription exactly at the tenth distinct dead letter since the last success or activation', () => {
    fc.assert(
      fc.property(fc.array(happening, { maxLength: 120 }), (list) => {
        let state: Subscriptions = subscriptionsStream.initial;
        let clock = 0;
        const apply = (events: readonly Parameters<typeof subscriptionsStream.evolve>[1][]): number => {
          for (const event of events)
            state = subscriptionsStream.evolve(state, event, { at: clock, revision: 0 });
          return events.filter(({ type }) => type === 'WebhookPaused').length;
        };
        const made = { id: 'a', url: 'u', events: ['*'], description: '', secret: 's', plan: 'pro' } as const;
        apply(createSubscription(state, made));
        const log: { id: string; outcome: 'dead' | 'delivered'; position: string; at: number }[] = [];
        const model = { dead: new Set<string>(), paused: false };
        const count = ({ id, outcome, position, at }: (typeof log)[number]): number =>
          apply(countEnd(state, { subscriptionId: 'a', deliveryId: id, outcome, position, at }));
        for (const each of list) {
          clock += 1;
          if (each.kind === 'activate') {
            apply(changeSubscription(state, 'a', { state: 'active' }, 'pro'));
            if (model.paused) model.dead.clear();
            model.paused = false;
          } else if (each.kind === 'again') {
            // After a crash, events since some position are counted again, in order.
            for (const one of log.slice(-each.back)) expect(count(one), 'counted already').to.equal(0);
          } else {
            const one = {
              id: `d${each.delivery}`,
              outcome: each.kind,
              position: String(clock).padStart(6, '0'),
              at: clock,
            };
            log.push(one);
            const pauses = count(one);
            if (each.kind === 'delivered') model.dead.clear();
            else if (!model.paused) model.dead.add(one.id);
            const isTenth: boolean = !model.paused && model.dead.size === 10;
            model.paused ||= isTenth;
            expect(pauses).to.equal(isTenth ? 1 : 0);
          }
          const now = state.byId.a;
          expect(now?.state).to.equal(model.paused ? 'paused' : 'active');
          expect(now?.deadLetters.length).to.equal(model.dead.size);
        }
      }),
    );
  });
});
