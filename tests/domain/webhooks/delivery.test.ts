import { expect } from 'chai';
import {
  type AttemptOutcome,
  type Delivery,
  type DeliveryEvent,
  deliveryStream,
  dropDelivery,
  recordAttempt,
  requestReplay,
  scheduleDelivery,
} from '../../../domain/webhooks/delivery.ts';
import { BEGINNING, given } from '../../support/given.ts';

const ids = { delivery_id: 'd', subscription_id: 's' };
const scheduled: DeliveryEvent = {
  type: 'DeliveryScheduled',
  data: { ...ids, event: 'entity.created', body: '{}', encoding: 'plain', parts: 1 },
};
const failed = (attempt: number): DeliveryEvent => ({
  type: 'DeliveryFailed',
  data: {
    ...ids,
    attempt,
    response_code: 500,
    error: 'HTTP 500',
    next_attempt_at: new Date(BEGINNING + attempt * 60_000).toISOString(),
  },
});
const dead = (attempt = 5, replay_id?: string): DeliveryEvent => ({
  type: 'DeliveryDeadLettered',
  data: {
    ...ids,
    attempt,
    response_code: null,
    error: 'no answer',
    ...(replay_id === undefined ? {} : { replay_id }),
  },
});
const succeeded = (attempt: number): DeliveryEvent => ({
  type: 'DeliverySucceeded',
  data: { ...ids, attempt, event: 'entity.created', response_code: 200 },
});
const asked = (replay_id: string, order?: string): DeliveryEvent => ({
  type: 'DeliveryReplayRequested',
  data: {
    ...ids,
    replay_id,
    due_at: new Date(BEGINNING).toISOString(),
    ...(order === undefined ? {} : { order }),
  },
});
const FOUR = [1, 2, 3, 4].map(failed);

const told = (...events: readonly DeliveryEvent[]) => given(deliveryStream, ...events);
const failure: AttemptOutcome = { kind: 'failed', responseCode: 500, error: 'HTTP 500', delayMs: 60_000 };
const record =
  (attempt: number, outcome: AttemptOutcome = failure, replayId?: string) =>
  (state: Delivery) =>
    recordAttempt(state, { attempt, replayId, outcome }, { now: BEGINNING });
const scheduledState = (...events: readonly DeliveryEvent[]) => {
  const { state } = told(...events);
  if (state.kind !== 'scheduled') throw new Error('not scheduled');
  return state;
};

describe('A webhook delivery', () => {
  it('is scheduled once, with its final body', () => {
    const command = {
      id: 'd',
      subscriptionId: 's',
      event: 'e',
      encoding: 'plain',
      bodyParts: ['x'],
    } as const;
    const schedule = (state: Delivery) => scheduleDelivery(state, command);
    expect(told().when(schedule).events()).to.have.length(1);
    told().when(schedule).thenAgainNothing();
    told(scheduled, { type: 'DeliveryDropped', data: ids }).when(schedule).givesNothing();
    const parts = told()
      .when((s) => scheduleDelivery(s, { ...command, bodyParts: ['x', 'y'] }))
      .events();
    expect(parts.map(({ type }) => type)).to.deep.equal(['DeliveryScheduled', 'DeliveryBodyContinued']);
  });

  it('is retried after its first four failures, and given up after the fifth', () => {
    told(scheduled)
      .when(record(1))
      .gives({
        type: 'DeliveryFailed',
        data: {
          ...ids,
          attempt: 1,
          response_code: 500,
          error: 'HTTP 500',
          next_attempt_at: '2026-01-01T00:01:00.000Z',
        },
      });
    const [last] = told(scheduled, ...FOUR)
      .when(record(5))
      .events();
    expect(last?.type).to.equal('DeliveryDeadLettered');
    const state = scheduledState(scheduled, ...FOUR, dead());
    expect(state).to.deep.include({ status: 'dead', attempts: 5, dueAt: null, ended: true });
  });

  it('ignores every attempt except the awaited one', () => {
    told(scheduled, failed(1)).when(record(1)).givesNothing();
    told(scheduled).when(record(2)).givesNothing();
    told(scheduled, { type: 'DeliveryDropped', data: ids }).when(record(1)).givesNothing();
    told().when(record(1)).givesNothing();
  });

  it('ends at once when it is refused', () => {
    const refused = told(scheduled)
      .when(record(1, { kind: 'refused', error: 'no' }))
      .events();
    expect(refused).to.deep.equal([{ type: 'DeliveryRefused', data: { ...ids, attempt: 1, error: 'no' } }]);
    const state = scheduledState(scheduled, ...refused);
    expect(state).to.deep.include({ status: 'failed', dueAt: null, lastError: 'no', responseCode: null });
  });

  it('has one further attempt for each replay, and continues the count', () => {
    const pending = scheduledState(scheduled, ...FOUR, dead(), asked('r'));
    expect(pending).to.deep.include({ status: 'pending', attempts: 5, dueAt: BEGINNING, deadAt: null });
    const [again] = told(scheduled, ...FOUR, dead(), asked('r'))
      .when(record(6, failure, 'r'))
      .events();
    expect(again).to.deep.include({ type: 'DeliveryDeadLettered' });
    const back = scheduledState(scheduled, ...FOUR, dead(), asked('r'), dead(6, 'r'));
    expect(back).to.deep.include({ status: 'dead', attempts: 6, dueAt: null });
    expect(back.deadAt, 'at the back of the log').to.equal(back.lastAttemptAt);
  });

  it('answers a replay requested during an attempt by a further attempt', () => {
    const owed = scheduledState(scheduled, asked('r'), succeeded(1));
    expect(owed).to.deep.include({ status: 'pending', dueAt: BEGINNING, attempts: 1 });
    const after = scheduledState(scheduled, asked('r'), succeeded(1), {
      type: 'DeliverySucceeded',
      data: { ...ids, attempt: 2, event: 'entity.created', response_code: 200, replay_id: 'r' },
    });
    expect(after).to.deep.include({ status: 'delivered', dueAt: null, attempts: 2 });
  });

  it('accepts a dead-letter replay only while it is a dead letter, and each such replay once', () => {
    const replay = { id: 'r', dueAt: BEGINNING, order: 'o' };
    const ask = (state: Delivery) => requestReplay(state, replay);
    expect(
      told(scheduled, ...FOUR, dead())
        .when(ask)
        .events(),
    ).to.deep.equal([asked('r', 'o')]);
    told(scheduled, ...FOUR, dead(), asked('r', 'o'), dead(6, 'r'))
      .when(ask)
      .givesNothing();
    told(scheduled, ...FOUR, dead(), asked('x'))
      .when(ask)
      .givesNothing();
    told(scheduled).when(ask).givesNothing();
    told().when(ask).isRefused('not_found');
    told(scheduled, succeeded(1))
      .when((s) => requestReplay(s, { id: 'r', dueAt: BEGINNING }))
      .gives(asked('r'));
  });

  it('is dropped with its subscription', () => {
    told(scheduled).when(dropDelivery).gives({ type: 'DeliveryDropped', data: ids });
    told(scheduled).when(dropDelivery).thenAgainNothing();
  });
});
