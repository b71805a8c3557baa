import { expect } from 'chai';
import {
  failRetry,
  type PostingFailureEvent,
  postingFailureStream,
  recordFailure,
  resolveFailure,
} from '../../../domain/ledger/posting-failure.ts';
import {
  changeRule,
  createRule,
  MAX_RULES,
  type PostingRule,
  type PostingRuleEvent,
  postingRulesStream,
  type RuleContent,
  requireRule,
} from '../../../domain/ledger/posting-rule.ts';
import { applyRule, type RuleInput } from '../../../domain/ledger/rule-entry.ts';
import { SOURCES } from '../../../domain/ledger/rule-sources.ts';
import { BEGINNING, given, refusal } from '../../support/given.ts';

const CONTENT: RuleContent = {
  name: 'Sales',
  source_kind: 'entity.created',
  active: true,
  mode: 'post',
  lines: [
    { account_code: '1200', side: 'debit', amount: { path: 'values.total' } },
    { account_code: '4000', side: 'credit', amount: { remainder: true } },
  ],
};
const created = (more: Partial<RuleContent> = {}): PostingRuleEvent => ({
  type: 'PostingRuleCreated',
  data: { rule_id: 'one', ...CONTENT, ...more },
});
const changed = (more: Partial<RuleContent> = {}): PostingRuleEvent => ({
  type: 'PostingRuleChanged',
  data: { rule_id: 'one', ...CONTENT, ...more },
});
const rule = (more: Partial<RuleContent> = {}): PostingRule => ({
  ...CONTENT,
  ...more,
  id: 'one',
  createdAt: 0,
  updatedAt: 0,
});
const input = (payload: unknown, more: Partial<RuleInput> = {}): RuleInput => ({
  payload,
  at: Date.UTC(2026, 11, 31, 23, 30),
  timezone: 'UTC',
  currency: 'EUR',
  ...more,
});

describe('A posting rule', () => {
  it('is created and changed, but not by equal values', () => {
    given(postingRulesStream)
      .when((state) => createRule(state, 'one', CONTENT))
      .gives(created());
    const story = given(postingRulesStream, created({ when: 'true' }));
    story
      .when((state) => changeRule(state, 'one', { name: 'New' }))
      .gives(changed({ name: 'New', when: 'true' }));
    story.when((state) => changeRule(state, 'one', { when: null })).gives(changed());
    // The same lines, with the keys of an amount in another order.
    const lines = [
      { amount: { path: 'values.total' }, side: 'debit' as const, account_code: '1200' },
      ...CONTENT.lines.slice(1),
    ];
    story.when((state) => changeRule(state, 'one', { when: 'true', lines })).givesNothing();
    for (const id of ['two', 'constructor', '__proto__']) {
      story.when((state) => changeRule(state, id, {})).isRefused('not_found');
    }
  });

  it('is limited in number', () => {
    const many = Array.from(
      { length: MAX_RULES },
      (_, nth): PostingRuleEvent => ({
        type: 'PostingRuleCreated',
        data: { ...created().data, rule_id: `r${nth}` },
      }),
    );
    given(postingRulesStream, ...many)
      .when((state) => createRule(state, 'more', CONTENT))
      .isRefused('constraint_violated');
  });

  it('accepts only paths of its source', () => {
    for (const { kind, payload } of SOURCES) {
      for (const { path } of payload) {
        const lines = CONTENT.lines.map((line) => ({ ...line, amount: { path } }));
        requireRule({ ...CONTENT, source_kind: kind, lines, date: path });
      }
      const lines = CONTENT.lines.map((line) => ({ ...line, amount: { path: 'toString' } }));
      const error = refusal(() => requireRule({ ...CONTENT, source_kind: kind, lines }));
      expect(error.details?.issues).to.have.length(2);
    }
  });

  it('is dated by the tenant’s calendar or by the payload', () => {
    const dateOf = (date: string | undefined, values: object, timezone: string) => {
      const outcome = applyRule(
        rule(date === undefined ? {} : { date }),
        input({ values: { total: 5, ...values } }, { timezone }),
      );
      return outcome.matches ? outcome.entry?.date : undefined;
    };
    expect(dateOf(undefined, {}, 'UTC')).to.equal('2026-12-31');
    expect(dateOf(undefined, {}, 'Pacific/Tongatapu')).to.equal('2027-01-01');
    expect(dateOf(undefined, {}, 'America/Los_Angeles')).to.equal('2026-12-31');
    expect(dateOf('values.day', { day: '2028-02-29' }, 'Pacific/Tongatapu')).to.equal('2028-02-29');
    expect(dateOf('values.day', { day: '2026-03-29T22:30:00+00:00' }, 'Europe/Berlin')).to.equal(
      '2026-03-30',
    );
    for (const day of ['2027-02-29', '0000-01-01', '', 5, null, '2026-13-01T00:00:00Z']) {
      expect(() => dateOf('values.day', { day }, 'UTC'), String(day)).to.throw('values.day');
    }
  });

  it('evaluates its condition over the payload and the time of the event', () => {
    const matches = (when: string, values: object = {}) =>
      applyRule(rule({ when }), input({ values: { total: 1, ...values } })).matches;
    expect(matches('payload.values.total == 1')).to.equal(true);
    expect(matches('payload.values.missing == null')).to.equal(true);
    expect(matches('payload.values.missing > 1')).to.equal(false);
    expect(matches('payload.values.text > 9', { text: '10' })).to.equal(true);
    // A condition that cannot be evaluated is false, also when negated.
    expect(matches('!(payload.values > 1)')).to.equal(false);
    expect(
      matches('now() > timestamp("2026-12-31T23:00:00Z") && now() < timestamp("2027-01-01T00:00:00Z")'),
    ).to.equal(true);
  });

  it('is refused when it gives a single line', () => {
    const lines = [
      { account_code: '1200', side: 'debit' as const, amount: { path: 'values.a' } },
      { account_code: '4000', side: 'credit' as const, amount: { path: 'values.b' } },
    ];
    const outcome = (a: number, b: number) => applyRule(rule({ lines }), input({ values: { a, b } }));
    expect(outcome(0, 0)).to.deep.equal({ matches: true });
    expect(refusal(() => outcome(5, 0)).code).to.equal('unbalanced');
  });

  it('uses the currency of a partner’s invoice', () => {
    const lines = CONTENT.lines.map((line) => ({ ...line, amount: { path: 'totals.retail' } }));
    const of = (currency: unknown) =>
      applyRule(
        rule({ source_kind: 'partner_invoice.issued', lines }),
        input({ currency, totals: { retail: '1.5' } }),
      );
    const usd = of('USD');
    expect(usd.matches && usd.entry).to.include({ currency: 'USD' });
    const kwd = of('KWD');
    expect(kwd.matches && kwd.entry?.lines[0]?.debit).to.equal(1500);
    expect(() => of('usd')).to.throw('currency');
  });

  it('reveals no payload value in its failure', () => {
    const values = { total: 'Ann Smith, 4 Private Road' };
    const error = refusal(() => applyRule(rule(), input({ values })));
    expect(JSON.stringify([error.message, error.details])).not.to.contain('Ann');
  });
});

describe('A posting failure', () => {
  const ids = { failure_id: 'f', rule_id: 'r', event_id: 'e' };
  const why = { code: 'period_locked', message: 'Locked.' };
  const source = { stream: 'acme.record-1', revision: 3 };
  const failed: PostingFailureEvent = {
    type: 'PostingRuleFailed',
    data: { ...ids, source_kind: 'entity.created', source, ...why },
  };
  const resolved: PostingFailureEvent = { type: 'PostingFailureResolved', data: { ...ids, entry_id: 'x' } };
  const again: PostingFailureEvent = { type: 'PostingRetryFailed', data: { ...ids, ...why } };
  const fact = { id: 'f', ruleId: 'r', eventId: 'e', kind: 'entity.created', source, ...why } as const;

  it('is recorded once, counts attempts, and is resolved once', () => {
    given(postingFailureStream)
      .when((state) => recordFailure(state, fact))
      .gives(failed);
    const story = given(postingFailureStream, failed, again);
    story.when((state) => recordFailure(state, fact)).givesNothing();
    story.when((state) => failRetry(state, why)).gives(again);
    const end = story.when((state) => resolveFailure(state, 'x'));
    end.gives(resolved);
    end.thenAgainNothing();
    expect(story.state.failure).to.include({ attempts: 2, createdAt: BEGINNING + 1000 });
    const over = given(postingFailureStream, failed, resolved);
    over.when((state) => failRetry(state, why)).givesNothing();
    over.when((state) => recordFailure(state, fact)).givesNothing();
  });

  it('that does not exist is not found, and needs no resolution', () => {
    const none = given(postingFailureStream);
    none.when((state) => failRetry(state, why)).isRefused('not_found');
    none.when((state) => resolveFailure(state, 'x')).givesNothing();
  });
});
