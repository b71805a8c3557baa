import { expect } from 'chai';
import fc from 'fast-check';
import { upstreamKey } from '../../application/billing/issuing.ts';
import type { Invoice } from '../../domain/billing/invoice-view.ts';
import type { Window } from '../../domain/billing/shapes.ts';
import { DomainError } from '../../domain/core/errors.ts';
import {
  draftOf,
  type FindFault,
  type Invoicing,
  invoicing,
  SCOPE,
  type SendFault,
} from '../application/billing/support.ts';
import { type Fault, faultyEvents } from '../support/faults.ts';

/** Under faults of upstream, store and process: one document per key, frozen bytes, and an end for every issue. */

const window = fc
  .record({ from: fc.integer({ min: 1, max: 5 }), length: fc.integer({ min: 1, max: 2 }) })
  .map(({ from, length }): Window => {
    const day = (month: number) => `2026-${String(month).padStart(2, '0')}-01T00:00:00.000Z`;
    return { from: day(from), to: day(from + length) };
  });
const sends = fc.array(fc.constantFrom<SendFault>('accept', 'accept unheard', 'unheard', 'refuse'), {
  maxLength: 2,
});
const finds = fc.array(fc.constantFrom<FindFault>('answer', 'unheard'), { maxLength: 2 });
const appends = fc.array(
  fc.constantFrom<Fault>('none', 'lost race', 'unavailable before', 'unavailable after'),
  { maxLength: 4 },
);
const which = fc.nat(6);

const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('generate' as const), window }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('issue' as const), which, sends, finds }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('go on' as const), sends, finds }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('void' as const), which }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.nat(5_000_000) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('start anew' as const), appends }) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

const never = new AbortController().signal;
const MAY_FAIL = ['StoreUnavailable', 'window_overlap', 'invoice_locked', 'upstream_refused', 'not_found'];

const attempted = async <T>(work: Promise<T>): Promise<T | undefined> => {
  try {
    return await work;
  } catch (error) {
    const name = error instanceof DomainError ? error.code : (error as Error).name;
    if (!MAY_FAIL.includes(name)) throw error;
    return undefined;
  }
};

const frozenPart = ({
  state: _s,
  last_error: _e,
  issued_at: _i,
  upstream_ref: _u,
  voided_at: _v,
  ...rest
}: Invoice) => JSON.stringify(rest);

const run = async (at: Invoicing, steps: readonly Step[]): Promise<void> => {
  let node = at.nodeOf();
  const frozen = new Map<string, string>();
  let card = 1;
  at.statements.draft = async () => draftOf({ rate_card_version: card++ });

  const goOn = async (): Promise<void> => {
    for await (const one of node.pending()) await node.issuing.attempt(one, false, never);
  };
  const check = async (): Promise<readonly Invoice[]> => {
    const shown = await Promise.all([...frozen.keys()].map((id) => at.node.log.invoice(SCOPE, 'acme', id)));
    const all = shown.flatMap((invoice) => (invoice === undefined ? [] : [invoice]));
    for (const invoice of all) expect(frozenPart(invoice)).to.equal(frozen.get(invoice.id));
    const live = all.filter(({ state }) => state !== 'void');
    live.forEach((one, i) => {
      for (const two of live.slice(i + 1)) {
        expect(one.window.to <= two.window.from || two.window.to <= one.window.from).to.equal(true);
      }
    });
    for (const invoice of all) {
      const has = at.upstream.documents.has(upstreamKey(invoice));
      if (invoice.state === 'issued') expect(has, 'issued and not there').to.equal(true);
      if (invoice.state === 'generated' || invoice.state === 'void') {
        expect(has, `${invoice.state} and there`).to.equal(false);
      }
    }
    return all;
  };
  const picked = (index: number): string => [...frozen.keys()][index % Math.max(1, frozen.size)] ?? 'none';

  for (const each of steps) {
    at.upstream.sends = 'sends' in each ? [...each.sends] : [];
    at.upstream.finds = 'finds' in each ? [...each.finds] : [];
    switch (each.kind) {
      case 'generate':
        await attempted(node.invoices.generate('north', 'acme', each.window, at.context()));
        for (const invoice of await at.node.log.live(SCOPE, 'acme')) {
          if (!frozen.has(invoice.id)) frozen.set(invoice.id, frozenPart(invoice));
        }
        break;
      case 'issue':
        await attempted(node.invoices.issue('north', picked(each.which), at.context()));
        break;
      case 'go on':
        await goOn();
        break;
      case 'void':
        await attempted(node.invoices.void('north', picked(each.which), at.context()));
        break;
      case 'wait':
        at.clock.advance(each.ms);
        break;
      case 'start anew':
        node = at.nodeOf({ events: faultyEvents(at.stores.events, each.appends) });
        break;
      default:
        each satisfies never;
    }
    await check();
  }
  // The faults are over, so that open issues end.
  at.upstream.sends = [];
  at.upstream.finds = [];
  node = at.nodeOf();
  await goOn();
  const all = await check();
  expect(all.filter(({ state }) => state === 'issuing')).to.deep.equal([]);
  const issued = all.filter(({ state }) => state === 'issued').map(upstreamKey);
  expect([...at.upstream.documents.keys()].toSorted()).to.deep.equal(issued.toSorted());
};

describe('Invoices under faults', () => {
  it('have one document each once issued and none before, stay frozen, and complete each issue that was begun', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 25 }), async (steps) => {
        const at = await invoicing();
        try {
          await run(at, steps);
        } finally {
          await at.leases.close();
        }
      }),
      { numRuns: 60 },
    );
  }).timeout(120_000);
});
