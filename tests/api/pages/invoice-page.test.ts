import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { INVOICE_PAGE_HEADERS, invoicePage } from '../../../api/pages/invoice-page.ts';
import type { Invoice } from '../../../domain/billing/invoice-view.ts';
import type { StatementLine } from '../../../domain/billing/shapes.ts';

const line = (own: Partial<StatementLine> = {}): StatementLine => ({
  meter: 'jobs_started',
  quantity: 1_234_567,
  included: 100,
  billable: 1_234_467,
  wholesale_rate: '31',
  retail_rate: '0.0004',
  wholesale: 777_777,
  retail: 494,
  item_name: 'jobs_started 2026-11-01..2026-11-30',
  item_description: '1234567 jobs_started for Acme',
  ...own,
});

const invoice = (own: Partial<Invoice> = {}): Invoice => ({
  id: '0',
  number: 'acme-1',
  partner: { id: 'north', name: 'North Ltd' },
  customer: { id: 'acme', name: 'Acme' },
  window: { from: '2026-11-01T00:00:00.000Z', to: '2026-12-01T00:00:00.000Z' },
  state: 'issued',
  revision: 1,
  currency: 'EUR',
  lines: [line()],
  totals: { wholesale: 777_777, retail: 494, margin: 1, margin_pct: 1 },
  rate_card_version: 1,
  generated_at: '2026-12-01T08:00:00.000Z',
  issued_at: '2026-12-02T08:00:00.000Z',
  upstream_ref: 'up-1',
  ...own,
});

const textOf = (page: string): string =>
  page
    .replace(/<style>[\s\S]*<\/style>/, '')
    .replace(/<[^>]+>/g, ' ')
    .replace(/\s+/g, ' ');

describe('The page of an invoice', () => {
  it('shows lines, customer, partner and window', () => {
    const text = textOf(invoicePage(invoice()));
    for (const part of [
      'Invoice acme-1',
      'From North Ltd',
      'To Acme',
      'Date 2026-12-02',
      'Period (UTC) 2026-11-01 to 2026-11-30',
      'Reference up-1',
      '1,234,567 100 1,234,467 0.000004 4.94',
      'Total 4.94 EUR',
    ]) {
      expect(text).to.include(part);
    }
    expect(text).not.to.include('Revision');
  });

  it('shows no wholesale amounts', () => {
    expect(invoicePage(invoice())).not.to.match(/7,?777|wholesale|margin_pct|\b0?\.31\b/);
  });

  it('states when it is not yet or no longer a bill', () => {
    expect(textOf(invoicePage(invoice()))).not.to.match(/Draft|Void/);
    expect(textOf(invoicePage(invoice({ state: 'generated' })))).to.include('Draft, not issued');
    expect(textOf(invoicePage(invoice({ state: 'issuing' })))).to.include('Draft, being issued');
    expect(textOf(invoicePage(invoice({ state: 'void', revision: 2 })))).to.match(/Void.*Revision 2/);
  });

  it('writes amounts with the decimal places of the currency', () => {
    const page = (currency: string, retail: number, retail_rate: string) =>
      textOf(
        invoicePage(
          invoice({
            currency,
            lines: [line({ retail, retail_rate })],
            totals: { wholesale: 0, retail, margin: 0, margin_pct: null },
          }),
        ),
      );
    expect(page('JPY', 1_234_567, '12.5')).to.match(/ 12\.5 1,234,567 Total 1,234,567 JPY/);
    expect(page('JPY', 0, '0')).to.match(/ 0 0 Total 0 JPY/);
    expect(page('KWD', 5, '1')).to.match(/ 0\.001 0\.005 Total 0\.005 KWD/);
    expect(page('EUR', 100, '12345')).to.match(/ 123\.45 1\.00 Total 1\.00 EUR/);
    expect(page('EUR', 100, '999999999.999999')).to.include(' 9,999,999.99999999 ');
  });

  it('shows late usage with its own window, and meters without a price', () => {
    const late = line({
      late: true,
      window: { from: '2026-10-05T00:00:00.000Z', to: '2026-10-06T00:00:00.000Z' },
    });
    const odd = line({
      late: true,
      window: { from: '2026-10-05T10:00:00.000Z', to: '2026-10-06T00:00:00.000Z' },
      unrated: true,
      retail_rate: null,
      retail: 0,
    });
    const text = textOf(invoicePage(invoice({ lines: [late, odd] })));
    expect(text).to.include('Usage of 2026-10-05 ');
    expect(text).to.include('Usage of 2026-10-05 10:00:00 to 2026-10-06 00:00:00');
    expect(text).to.include('not priced 0.00');
  });

  it('escapes every text', () => {
    const evil = `</style><script>alert(1)</script>"'&<img src=x onerror=alert(1)>`;
    const page = invoicePage(
      invoice({
        number: evil,
        partner: { id: 'north', name: evil },
        customer: { id: 'acme', name: evil },
        lines: [line({ item_name: evil, item_description: evil })],
        currency: 'EUR',
        upstream_ref: evil,
      }),
    );
    expect(page).not.to.match(/<script|<img/);
    expect(page.split('&lt;/style&gt;&lt;script&gt;').length - 1).to.equal(7);
    expect(page.match(/<style>/g)).to.have.length(1);
  });

  it('allows its one style and nothing else', () => {
    const style = /<style>([\s\S]*)<\/style>/.exec(invoicePage(invoice()))?.[1] ?? '';
    const hash = createHash('sha256').update(style).digest('base64');
    expect(INVOICE_PAGE_HEADERS['Content-Security-Policy']).to.equal(
      `default-src 'none'; style-src 'sha256-${hash}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
    );
    expect(invoicePage(invoice())).not.to.match(/ style=|src=|href=|url\(/);
  });
});
