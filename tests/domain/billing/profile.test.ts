import { expect } from 'chai';
import fc from 'fast-check';
import {
  type BillingProfile,
  changeProfile,
  DEFAULT_PROFILE,
  profileOf,
  profileStream,
} from '../../../domain/billing/profile.ts';
import { checkTemplate, renderTemplate, TEMPLATE_VARIABLES } from '../../../domain/billing/template.ts';
import { given, refusal } from '../../support/given.ts';

const VALUES = {
  customer: 'Acme',
  partner: 'North',
  meter: 'messages_sent',
  quantity: '7',
  period: '2026-11-01..2026-11-30',
};

describe('A template', () => {
  for (const [template, wanted] of [
    ['', ''],
    ['plain', 'plain'],
    ['{{customer}}', 'Acme'],
    ['{{ customer }}', 'Acme'],
    ['{{   quantity}} x {{meter   }}', '7 x messages_sent'],
    ['{{partner}}{{partner}}', 'NorthNorth'],
    ['{ {customer} }', '{ {customer} }'],
    ['a }} b } c {', 'a }} b } c {'],
    ['<b>{{period}}</b> & $1', '<b>2026-11-01..2026-11-30</b> & $1'],
  ] as const) {
    it(`${JSON.stringify(template)} renders ${JSON.stringify(wanted)}`, () => {
      checkTemplate(template, 'x');
      expect(renderTemplate(template, VALUES)).to.equal(wanted);
    });
  }

  for (const [template, variable] of [
    ['{{price}}', 'price'],
    ['{{}}', ''],
    ['{{ }}', ''],
    ['{{Customer}}', 'Customer'],
    ['{{customer.name}}', 'customer.name'],
    ['{{\tcustomer}}', '\tcustomer'],
    ['{{customer', 'customer'],
    ['{{customer}', 'customer}'],
    ['{{customer}} and {{', ''],
    ['{{{customer}}}', '{customer'],
    ['{{cust{{omer}}}}', 'cust{{omer'],
    ['{{toString}}', 'toString'],
    ['{{__proto__}}', '__proto__'],
    [`{{${'😀'.repeat(100)}}}`, '😀'.repeat(64)],
  ] as const) {
    it(`${JSON.stringify(template.slice(0, 30))} is refused with the name of its variable`, () => {
      const error = refusal(() => checkTemplate(template, 'item_name_template'));
      expect([error.code, error.details]).to.deep.equal([
        'unknown_template_variable',
        { field: 'item_name_template', variable },
      ]);
    });
  }

  it('is filled in one pass: braces in a value are text', () => {
    const values = { ...VALUES, customer: '{{partner}}', partner: '{{customer}} $& {{' };
    expect(renderTemplate('{{customer}}|{{partner}}', values)).to.equal('{{partner}}|{{customer}} $& {{');
  });

  it('is refused, or keeps every character around its variables', () => {
    const piece = fc.oneof(
      fc.constantFrom('{', '}', '{{', '}}', ' ', 'customer', 'x'),
      fc.constantFrom(...TEMPLATE_VARIABLES).map((name) => `{{${name}}}`),
      fc.string({ maxLength: 5 }),
    );
    let accepted = 0;
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const template = pieces.join('');
        try {
          checkTemplate(template, 'x');
        } catch {
          return;
        }
        accepted += 1;
        // Filled in with its own variables, a template renders itself, except for spaces inside the braces.
        const own = Object.fromEntries(TEMPLATE_VARIABLES.map((name) => [name, `{{${name}}}`]));
        const values = { ...VALUES, ...own };
        const squeezed = template.replace(/\{\{ *([a-z]+) *\}\}/g, '{{$1}}');
        expect(renderTemplate(template, values)).to.equal(squeezed);
      }),
      { numRuns: 500 },
    );
    expect(accepted).to.be.greaterThan(100);
  });
});

describe('A billing profile', () => {
  const mine: BillingProfile = { item_name_template: '{{meter}}', item_description: '' };
  const changed = { type: 'BillingProfileChanged', data: mine } as const;

  it('has valid defaults until one is set', () => {
    expect(profileOf(given(profileStream).state)).to.equal(DEFAULT_PROFILE);
    given(profileStream)
      .when((state) => changeProfile(state, DEFAULT_PROFILE))
      .gives({ type: 'BillingProfileChanged', data: DEFAULT_PROFILE });
    expect(profileOf(given(profileStream, changed).state)).to.deep.equal(mine);
  });

  it('changes by one event, and not by equal values', () => {
    given(profileStream)
      .when((state) => changeProfile(state, mine))
      .gives(changed);
    given(profileStream, changed)
      .when((state) => changeProfile(state, mine))
      .givesNothing();
    given(profileStream, changed)
      .when((state) => changeProfile(state, { ...mine, item_description: 'x' }))
      .gives({ type: 'BillingProfileChanged', data: { ...mine, item_description: 'x' } });
  });

  for (const field of ['item_name_template', 'item_description'] as const) {
    it(`is refused for an unknown variable in ${field}`, () => {
      given(profileStream)
        .when((state) => changeProfile(state, { ...mine, [field]: '{{price}}' }))
        .isRefused('unknown_template_variable', { field, variable: 'price' });
    });
  }
});
