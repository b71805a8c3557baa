import { expect } from 'chai';
import { DomainError, notFound } from '../../../domain/core/errors.ts';
import {
  draftOf,
  FEB,
  type Invoicing,
  invoicesOf,
  invoicing,
  JAN,
  SCOPE,
  statesOf,
  typesOf,
} from './support.ts';

const codeOf = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work;
  } catch (error) {
    if (error instanceof DomainError) return error.code;
    throw error;
  }
  return 'done';
};

describe('Generating invoices', () => {
  let at: Invoicing;
  beforeEach(async () => {
    at = await invoicing();
  });

  it('makes one invoice for concurrent requests on two nodes', async () => {
    const other = at.nodeOf();
    const made = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        (i % 2 === 0 ? at.node : other).invoices.generate('north', 'acme', JAN, at.context()),
      ),
    );
    expect(made.filter(({ isNew }) => isNew)).to.have.length(1);
    expect(new Set(made.map(({ invoice }) => JSON.stringify(invoice))).size).to.equal(1);
    expect(await typesOf(at.node)).to.deep.equal(['InvoiceGenerated']);
  });

  it('makes no two invoices with overlapping windows from concurrent requests', async () => {
    const half = { from: '2026-01-15T00:00:00.000Z', to: '2026-02-15T00:00:00.000Z' };
    const other = at.nodeOf();
    const codes = await Promise.all([
      codeOf(at.node.invoices.generate('north', 'acme', JAN, at.context())),
      codeOf(other.invoices.generate('north', 'acme', half, at.context())),
      codeOf(at.node.invoices.generate('north', 'acme', FEB, at.context())),
    ]);
    expect(codes).to.include('window_overlap');
    const windows = (await invoicesOf(at.node)).state.live.map(({ window }) => window);
    windows.forEach((one, i) => {
      windows.slice(i + 1).forEach((two) => {
        expect(one.to <= two.from || two.to <= one.from).to.equal(true);
      });
    });
  });

  it('finds the invoice of an earlier try of a keyed request', async () => {
    const first = await at.node.invoices.generate('north', 'acme', JAN, at.context('key'));
    const again = await at.nodeOf().invoices.generate('north', 'acme', JAN, at.context('key'));
    expect(again).to.deep.equal(first);
    expect(again.isNew).to.equal(true);
  });

  it('is refused without stored effect for a tenant that is not the partner’s customer', async () => {
    at.statements.draft = async () => {
      throw notFound();
    };
    for (const id of ['cove', 'dale', 'nobody', 'no-slug', '']) {
      expect(await codeOf(at.node.invoices.generate('north', id, JAN, at.context())), id).to.equal(
        'not_found',
      );
      expect(await typesOf(at.node, id)).to.deep.equal([]);
    }
  });

  it('drafts again after a lost race, on the winner’s state', async () => {
    let drafts = 0;
    const other = at.nodeOf();
    at.statements.draft = async () => {
      drafts += 1;
      if (drafts === 1) await other.invoices.generate('north', 'acme', FEB, at.context());
      return draftOf({ rate_card_version: drafts });
    };
    const { invoice } = await at.node.invoices.generate('north', 'acme', JAN, at.context());
    expect(invoice.rate_card_version).to.equal(3);
    expect(invoice.number).to.equal('acme-2');
  });

  it('does not report an empty window when another node has just invoiced it', async () => {
    const other = at.nodeOf();
    let drafts = 0;
    at.statements.draft = async () => {
      drafts += 1;
      if (drafts === 2) return draftOf();
      await other.invoices.generate('north', 'acme', JAN, at.context());
      // The other invoice contains the usage now.
      return draftOf({ lines: [] });
    };
    const late = await at.node.invoices.generate('north', 'acme', JAN, at.context());
    expect([late.isNew, late.invoice.totals.retail]).to.deep.equal([false, 800]);
  });

  it('freezes the invoice against later changes of the statement', async () => {
    const { invoice } = await at.node.invoices.generate('north', 'acme', JAN, at.context());
    at.statements.draft = async () =>
      draftOf({ customer: { id: 'acme', name: 'Renamed' }, rate_card_version: 9, currency: 'USD' });
    const again = await at.nodeOf().invoices.generate('north', 'acme', JAN, at.context());
    expect(JSON.stringify(again.invoice)).to.equal(JSON.stringify(invoice));
    const { invoice: issued } = await at.node.invoices.issue('north', invoice.id, at.context());
    expect(issued).to.deep.include({ ...invoice, state: 'issued' });
    const [[, document] = []] = at.upstream.documents;
    expect(JSON.parse(document ?? '')).to.deep.include({ customer: invoice.customer, currency: 'EUR' });
  });

  it('keeps a void invoice and makes the next revision of the present usage', async () => {
    const { invoice } = await at.node.invoices.generate('north', 'acme', JAN, at.context());
    const { invoice: gone } = await at.node.invoices.void('north', invoice.id, at.context());
    expect(gone).to.deep.equal({ ...invoice, state: 'void', voided_at: gone.voided_at });
    at.statements.draft = async () => draftOf({ rate_card_version: 2 });
    const { invoice: next, isNew } = await at.node.invoices.generate('north', 'acme', JAN, at.context());
    expect([isNew, next.revision, next.rate_card_version]).to.deep.equal([true, 2, 2]);
    expect(await at.node.log.invoice(SCOPE, 'acme', invoice.id)).to.deep.equal(gone);
    expect((await at.node.log.live(SCOPE, 'acme')).map(({ id }) => id)).to.deep.equal([next.id]);
  });

  it('does not find another partner’s invoice', async () => {
    const { invoice } = await at.node.invoices.generate('north', 'acme', JAN, at.context());
    const { invoices } = at.node;
    for (const work of [
      invoices.issue('south', invoice.id, at.context()),
      invoices.void('south', invoice.id, at.context()),
      invoices.change('south', invoice.id),
    ]) {
      expect(await codeOf(work)).to.equal('not_found');
    }
    expect(await statesOf(at.node)).to.deep.equal(['generated']);
  });
});

describe('Concurrent void and issue', () => {
  it('have one winner on two nodes in any order', async () => {
    const at = await invoicing();
    const other = at.nodeOf();
    const results: string[] = [];
    for (let round = 0; round < 12; round += 1) {
      const { invoice } = await at.node.invoices.generate('north', 'acme', JAN, at.context());
      const [issue, cancel] = await Promise.all([
        codeOf(at.node.invoices.issue('north', invoice.id, at.context())),
        codeOf(other.invoices.void('north', invoice.id, at.context())),
      ]);
      expect([issue, cancel].toSorted()).to.deep.equal(['done', 'invoice_locked']);
      const state = (await at.node.log.invoice(SCOPE, 'acme', invoice.id))?.state;
      expect(state).to.equal(issue === 'done' ? 'issued' : 'void');
      results.push(issue);
      if (issue === 'done') break;
    }
    expect(at.upstream.documents.size).to.equal(results.filter((each) => each === 'done').length);
  });
});
