import { expect } from 'chai';
import { DomainError } from '../../../domain/core/errors.ts';
import type { Plan } from '../../../domain/tenancy/tenant.ts';
import { countEnd } from '../../../domain/webhooks/dead-letters.ts';
import { eventsOf, wants } from '../../../domain/webhooks/event-types.ts';
import {
  changeSubscription,
  createSubscription,
  deleteSubscription,
  evolveSubscription,
  replayDeadLetters,
  rotateSecret,
  type SubscriptionEvent,
  type Subscriptions,
  subscriptionsStream,
} from '../../../domain/webhooks/subscription.ts';
import { MAX_SUBSCRIPTIONS } from '../../../domain/webhooks/subscription-limits.ts';
import { BEGINNING, given, type Past } from '../../support/given.ts';

const created = (id = 'a'): SubscriptionEvent => ({
  type: 'WebhookCreated',
  data: { subscription_id: id, url: 'https://a.example/', events: ['*'], description: '', secret: 'sealed' },
});
const paused = (id = 'a'): SubscriptionEvent => ({
  type: 'WebhookPaused',
  data: { subscription_id: id, reason: 'request' },
});
const activated = (id = 'a'): SubscriptionEvent => ({
  type: 'WebhookActivated',
  data: { subscription_id: id },
});
const counted = (delivery: number): SubscriptionEvent => ({
  type: 'WebhookDeadLetterCounted',
  data: { subscription_id: 'a', delivery_id: `d${delivery}`, source_position: place(delivery) },
});
const place = (number: number): string => String(number).padStart(5, '0');
const told = (...events: readonly Past<SubscriptionEvent>[]) => given(subscriptionsStream, ...events);

const creation = (plan: Plan, id = 'b') => ({
  id,
  url: 'https://b.example/',
  events: ['entity.created', 'entity.created'] as const,
  description: 'B',
  secret: 's',
  plan,
});
const end = (delivery: number, outcome: 'dead' | 'delivered' = 'dead', at = BEGINNING + 1_000_000) => ({
  subscriptionId: 'a',
  deliveryId: `d${delivery}`,
  outcome,
  position: place(delivery),
  at,
});

describe('Webhook subscriptions', () => {
  it('are created up to the plan’s limit, which does not count paused ones', () => {
    const caps = { hobby: 1, pro: 5, business: 25 } as const;
    for (const [plan, limit] of Object.entries(caps) as [keyof typeof caps, number][]) {
      const many = Array.from({ length: limit }, (_, index) => created(`n${index}`));
      const create = (state: Parameters<typeof createSubscription>[0]) =>
        createSubscription(state, creation(plan));
      told(...many)
        .when(create)
        .isRefused('subscription_limit_reached', { limit, active: limit });
      const room = told(...many, paused('n0'));
      expect(room.when(create).events()).to.have.length(1);
      room.when(create).thenAgainNothing();
      room.when((state) => changeSubscription(state, 'n0', { state: 'active' }, plan)).gives(activated('n0'));
      told(...many, paused('n0'), created('more'))
        .when((state) => changeSubscription(state, 'n0', { state: 'active' }, plan))
        .isRefused('subscription_limit_reached', { limit, active: limit });
    }
    const crowd = Array.from({ length: 300 }, (_, index) => created(`n${index}`));
    expect(
      told(...crowd)
        .when((s) => createSubscription(s, creation('enterprise')))
        .events(),
    ).to.have.length(1);
    told()
      .when((s) => createSubscription(s, creation('free')))
      .isRefused('plan_required');
    told(created(), paused())
      .when((s) => changeSubscription(s, 'a', { state: 'active' }, 'free'))
      .isRefused('plan_required');
  });

  it('are limited to a thousand for any plan and state', () => {
    let state: Subscriptions = subscriptionsStream.initial;
    const create = (id: string) =>
      createSubscription(state, {
        id,
        url: 'u',
        events: ['*'],
        description: '',
        secret: 's',
        plan: 'enterprise',
      });
    const apply = (events: readonly SubscriptionEvent[]): void => {
      for (const event of events) state = subscriptionsStream.evolve(state, event, { at: 0, revision: 0 });
    };
    for (let nth = 0; nth < MAX_SUBSCRIPTIONS; nth += 1) {
      apply(create(`${nth}`));
      if (nth % 2 === 0) apply(changeSubscription(state, `${nth}`, { state: 'paused' }, 'enterprise'));
    }
    expect(() => create('more'))
      .to.throw(DomainError)
      .that.deep.includes({
        code: 'subscription_limit_reached',
        details: { limit: MAX_SUBSCRIPTIONS, active: MAX_SUBSCRIPTIONS / 2 },
      });
    expect(create('0'), 'the same again changes nothing').to.deep.equal([]);
    apply(deleteSubscription(state, '1'));
    expect(create('more')).to.have.length(1);
  });

  it('of the greatest number are folded within 1.5 s of processor time', () => {
    let state = told(...Array.from({ length: MAX_SUBSCRIPTIONS }, (_, nth) => created(`hook-${nth}`))).state;
    const before = process.threadCpuUsage();
    for (let nth = 0; nth < MAX_SUBSCRIPTIONS; nth += 1) {
      state = subscriptionsStream.evolve(state, paused(`hook-${nth}`), { at: 0, revision: nth });
    }
    const { user, system } = process.threadCpuUsage(before);
    expect(Object.values(state.byId).every((each) => each.state === 'paused')).to.equal(true);
    // It takes three seconds if each event copies the state key by key.
    expect((user + system) / 1000).to.be.below(1500);
  });

  it('hold each event once, and only `*` when they have it', () => {
    told()
      .when((s) => createSubscription(s, creation('pro')))
      .gives({
        type: 'WebhookCreated',
        data: {
          subscription_id: 'b',
          url: 'https://b.example/',
          events: ['entity.created'],
          description: 'B',
          secret: 's',
        },
      });
    expect(eventsOf(['entity.created', '*'])).to.deep.equal(['*']);
    expect([wants(['*'], 'form.submitted'), wants(['entity.created'], 'entity.updated')]).to.deep.equal([
      true,
      false,
    ]);
  });

  it('change by differing values only', () => {
    const now = { url: 'https://a.example/', events: ['*'], description: '', state: 'active' } as const;
    told(created())
      .when((s) => changeSubscription(s, 'a', now, 'pro'))
      .givesNothing();
    told(created())
      .when((s) => changeSubscription(s, 'a', { ...now, description: 'x', state: 'paused' }, 'pro'))
      .gives({ type: 'WebhookChanged', data: { subscription_id: 'a', description: 'x' } }, paused());
    for (const id of ['b', '__proto__', 'constructor']) {
      told(created())
        .when((s) => changeSubscription(s, id, {}, 'pro'))
        .isRefused('not_found');
    }
    told(created(), { type: 'WebhookDeleted', data: { subscription_id: 'a' } })
      .when((s) => deleteSubscription(s, 'a'))
      .isRefused('not_found');
  });

  it('keep one previous secret until it expires', () => {
    const { state } = told(created());
    const now = BEGINNING + 5000;
    const rotate = (secret: string, at: number) =>
      rotateSecret(state, 'a', { secret, graceMs: 1000 }, { now: at });
    const [first] = rotate('two', now);
    expect(first?.data).to.deep.include({ previous_until: new Date(now + 1000).toISOString() });
    const [second] = rotate('three', now + 10);
    let one = state.byId.a;
    for (const event of [first, second]) {
      if (event !== undefined) one = evolveSubscription(one, event, { at: now, revision: 0 });
    }
    expect(one?.secret).to.equal('three');
    expect(one?.previous).to.deep.equal({ secret: 'two', until: now + 1010 });
  });

  it('are paused by the tenth distinct dead letter', () => {
    const nine = Array.from({ length: 9 }, (_, index) => counted(index + 1));
    told(created(), ...nine.slice(1))
      .when((s) => countEnd(s, end(20)))
      .gives(counted(20));
    told(created(), ...nine)
      .when((s) => countEnd(s, end(20)))
      .gives(counted(20), { type: 'WebhookPaused', data: { subscription_id: 'a', reason: 'dead_letters' } });
    const again = { ...end(20), deliveryId: 'd3' };
    told(created(), ...nine)
      .when((s) => countEnd(s, again))
      .givesNothing();
    told(created(), ...nine)
      .when((s) => countEnd(s, end(9)))
      .givesNothing();
    told(created(), ...nine, paused())
      .when((s) => countEnd(s, end(20)))
      .givesNothing();
    told(created())
      .when((s) => countEnd(s, { ...end(20), subscriptionId: 'gone' }))
      .givesNothing();
    told(created())
      .when((s) => countEnd(s, end(20, 'delivered')))
      .givesNothing();
    told(created(), counted(1))
      .when((s) => countEnd(s, end(20, 'delivered')))
      .gives({
        type: 'WebhookDeadLettersCleared',
        data: { subscription_id: 'a', source_position: place(20) },
      });
  });

  it('are not paused by a repeated dead letter after a success', () => {
    const cleared: SubscriptionEvent = {
      type: 'WebhookDeadLettersCleared',
      data: { subscription_id: 'a', source_position: place(2) },
    };
    const later = told(created(), counted(1), cleared, counted(3));
    later.when((s) => countEnd(s, end(1))).givesNothing();
    later.when((s) => countEnd(s, end(2, 'delivered'))).givesNothing();
    later.when((s) => countEnd(s, end(4))).gives(counted(4));
  });

  it('restart their count when they are activated again', () => {
    const back = told(created(), counted(1), paused(), { ...activated(), at: BEGINNING + 50_000 });
    expect(back.state.byId.a?.deadLetters).to.deep.equal([]);
    back.when((s) => countEnd(s, end(20, 'dead', BEGINNING + 49_999))).givesNothing();
    back.when((s) => countEnd(s, end(20, 'dead', BEGINNING + 50_000))).gives(counted(20));
  });

  it('replay their dead letters while active, if there are any', () => {
    const replay = { id: 'r', until: '2026-01-01T00:00:00.000Z', count: 2 };
    told(created(), paused())
      .when((s) => replayDeadLetters(s, 'a', replay))
      .isRefused('subscription_paused');
    told(created())
      .when((s) => replayDeadLetters(s, 'a', { ...replay, count: 0 }))
      .givesNothing();
    expect(
      told(created())
        .when((s) => replayDeadLetters(s, 'a', replay))
        .events(),
    ).to.have.length(1);
  });
});
