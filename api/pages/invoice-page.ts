import type { Invoice, InvoiceState } from '../../domain/billing/invoice-view.ts';
import type { StatementLine, Window } from '../../domain/billing/shapes.ts';
import { majorText, minorDigits } from '../../domain/ledger/money.ts';
import { attributes, type Html, html } from './html.ts';
import { page, pageHeaders } from './page.ts';

/** An invoice to print for the partner's customer, without wholesale amounts. */

const STYLE = `
*,*::before,*::after{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;padding:1.5rem 1rem 4rem;background:#f4f5f7;color:#16181d;font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
main{max-width:56rem;margin:0 auto;padding:1.5rem 1.25rem;background:#fff;border:1px solid #d5d8de;border-radius:.5rem}
h1,p,dd,td,th{overflow-wrap:anywhere}
h1{margin:0;font-size:1.75rem;line-height:1.25}
p{margin:0}
header{display:flex;flex-wrap:wrap;gap:.5rem 1.5rem;justify-content:space-between;align-items:baseline;margin:0 0 1.5rem}
.state{padding:.125rem .625rem;border:2px solid #4d5461;border-radius:.25rem;color:#4d5461;font-weight:700}
.state.void{border-color:#a8071a;color:#a8071a}
dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(13rem,1fr));gap:1rem 1.5rem;margin:0 0 2rem}
dt{color:#4d5461;font-size:.875rem}
dd{margin:0;font-weight:600}
table{width:100%;border-collapse:collapse}
caption{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
th,td{padding:.625rem .5rem;vertical-align:top;text-align:left}
thead th:first-child{width:40%}
thead th{border-bottom:2px solid #16181d;font-size:.875rem;vertical-align:bottom}
tbody tr{border-bottom:1px solid #d5d8de}
tbody th{font-weight:600}
tbody th span{display:block;color:#4d5461;font-weight:400;font-size:.9375rem;white-space:pre-line}
.number{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
th:first-child,td:first-child{padding-left:0}
th:last-child,td:last-child{padding-right:0}
tfoot th,tfoot td{padding-top:1rem;font-size:1.25rem;font-weight:700}
.note{margin:1.5rem 0 0;color:#4d5461;font-size:.9375rem}
@media (min-width:48rem){main{padding:2.5rem}}
@media screen and (max-width:47.99rem){
thead{display:none}
table,tbody,tfoot,tr,th,td{display:block;padding:0}
tbody tr{padding:.875rem 0}
tbody tr:first-child{border-top:2px solid #16181d}
td.number{display:flex;justify-content:space-between;gap:1rem;padding-top:.25rem;white-space:normal}
td.number::before{content:attr(data-label);color:#4d5461}
tfoot tr{display:flex;flex-wrap:wrap;justify-content:space-between;gap:.25rem 1rem;padding-top:1rem}
tfoot th,tfoot td{padding:0}
tfoot td.number::before{content:none}
}
@page{size:A4;margin:18mm 16mm}
@media print{
html{font-size:10pt}
body{padding:0;background:none}
main{max-width:none;padding:0;border:0;border-radius:0}
tr,dl{break-inside:avoid}
thead{display:table-header-group}
tfoot{display:table-row-group}
}
`;

export const INVOICE_PAGE_HEADERS = pageHeaders(STYLE);

const STATES: Readonly<Record<InvoiceState, string | undefined>> = {
  generated: 'Draft, not issued',
  issuing: 'Draft, being issued',
  issued: undefined,
  void: 'Void',
};

/** `1234567.5` as `1,234,567.5`. */
const grouped = (decimal: string): string => {
  const [whole = '', ...fraction] = decimal.split('.');
  return [whole.replace(/\B(?=(\d{3})+$)/g, ','), ...fraction].join('.');
};

const amount = (minor: number, currency: string): string => grouped(majorText(BigInt(minor), currency));

/** A price per unit in major units: with all its decimals, and at least as many as the currency has. */
const price = (rate: string, currency: string): string => {
  const digits = minorDigits(currency);
  const [whole = '0', fraction = ''] = rate.split('.');
  const all = whole.padStart(digits + 1, '0');
  const cut = all.length - digits;
  const places = (all.slice(cut) + fraction).replace(/0+$/, '').padEnd(digits, '0');
  return grouped(places === '' ? all.slice(0, cut) : `${all.slice(0, cut)}.${places}`);
};

const MIDNIGHT = 'T00:00:00.000Z';
const DAY_MS = 86_400_000;

/** Shows whole days by their first and last day, other windows to the second. */
const period = ({ from, to }: Window): string => {
  if (from.endsWith(MIDNIGHT) && to.endsWith(MIDNIGHT)) {
    const first = from.slice(0, 10);
    const last = new Date(Date.parse(to) - DAY_MS).toISOString().slice(0, 10);
    return first === last ? first : `${first} to ${last}`;
  }
  return [from, to].map((each) => `${each.slice(0, 10)} ${each.slice(11, 19)}`).join(' to ');
};

const number = (label: string, text: string): Html =>
  html`<td class="number"${attributes({ 'data-label': label })}>${text}</td>`;

const row = (line: StatementLine, currency: string): Html => {
  const { item_name, item_description, quantity, included, billable, retail_rate, retail } = line;
  const late =
    line.late === true && line.window !== undefined ? `Usage of ${period(line.window)}` : undefined;
  const below = [item_description, late].filter((text) => text !== undefined && text !== '');
  return html`<tr>
<th scope="row">${item_name}${below.map((text) => html`<span>${text}</span>`)}</th>
${number('Quantity', grouped(String(quantity)))}
${number('Included', grouped(String(included)))}
${number('Billed', grouped(String(billable)))}
${number('Unit price', retail_rate === null ? 'not priced' : price(retail_rate, currency))}
${number('Amount', amount(retail, currency))}
</tr>
`;
};

const term = (name: string, text: string): Html => html`<div><dt>${name}</dt><dd>${text}</dd></div>
`;

export const invoicePage = (invoice: Invoice): string => {
  const { currency, state } = invoice;
  const said = STATES[state];
  const title = `Invoice ${invoice.number}`;
  const date = (invoice.issued_at ?? invoice.generated_at).slice(0, 10);
  const columns = ['Quantity', 'Included', 'Billed', 'Unit price', `Amount`];
  const content = html`<header>
<h1>${title}</h1>
${said === undefined ? undefined : html`<p class="state${state === 'void' ? ' void' : ''}">${said}</p>`}
</header>
<dl>
${term('From', invoice.partner.name)}${term('To', invoice.customer.name)}${term('Date', date)}${term(
  'Period (UTC)',
  period(invoice.window),
)}${invoice.revision > 1 ? term('Revision', String(invoice.revision)) : undefined}${
  invoice.upstream_ref === undefined ? undefined : term('Reference', invoice.upstream_ref)
}</dl>
<table>
<caption>Billed items</caption>
<thead><tr><th scope="col">Item</th>${columns.map(
    (name) => html`<th scope="col" class="number">${name}</th>`,
  )}</tr></thead>
<tbody>
${invoice.lines.map((line) => row(line, currency))}</tbody>
<tfoot><tr><th scope="row" colspan="2">Total</th><td class="number" colspan="4">${amount(
    invoice.totals.retail,
    currency,
  )} ${currency}</td></tr></tfoot>
</table>
<p class="note">All amounts in ${currency}.</p>`;
  return page(title, content, STYLE);
};
