import { expect } from 'chai';
import { completeFilter, type FilterName } from '../../../console/src/pages/records/complete-filter.ts';
import { parseFilter } from '../../../domain/expressions/filter.ts';

const NOW = new Date('2026-11-24T12:00:00Z');
const NAMES: readonly FilterName[] = [
  { key: 'name', label: 'Name', type: 'text' },
  { key: 'worth', label: 'Worth', type: 'decimal' },
  {
    key: 'kind',
    label: 'Kind',
    type: 'enum',
    values: [
      ['cold', 'cold'],
      ['warm', 'warm'],
    ],
  },
  { key: 'owner', label: 'Owner', type: 'user', values: [['u-1', 'Ada Lund']] },
  { key: 'due', label: 'Due', type: 'date' },
  { key: 'urgent', label: 'Urgent', type: 'boolean' },
  { key: 'created_at', label: 'created_at', type: 'datetime' },
];

/** The completion of `text` at the caret, whose place `^` marks. */
const at = (text: string) => {
  const caret = text.indexOf('^');
  return completeFilter(text.replace('^', ''), caret, NAMES, NOW);
};
const offered = (text: string): readonly string[] => (at(text)?.suggestions ?? []).map(({ label }) => label);

describe('The completion of filters', () => {
  it('offers fields where a condition begins', () => {
    for (const text of ['^', 'worth > 1 && ^', '(^', '!^'])
      expect(offered(text), text).to.include.members(['name', 'kind']);
    expect(offered('na^')).to.deep.equal(['name']);
    expect(offered('worth > 1 || ki^')).to.deep.equal(['kind']);
  });

  it('offers the operators of the type', () => {
    expect(offered('kind ^')).to.deep.equal(['==', '!=', 'in [ ]']);
    expect(offered('worth ^')).to.include.members(['<', '>=']).and.not.include('.contains( )');
    expect(offered('name ^')).to.include('.contains( )');
    expect(offered('name.^')).to.deep.equal(['contains( )', 'startsWith( )', 'endsWith( )']);
    expect(offered('name.st^')).to.deep.equal(['startsWith( )']);
  });

  it('offers values: options, people by name, days, moments', () => {
    expect(offered('kind == ^')).to.deep.equal(['"cold"', '"warm"', 'null']);
    expect(offered('kind == "w^')).to.deep.equal(['"warm"']);
    expect(offered('kind in ["cold", ^')).to.include('"warm"');
    expect(offered('owner == Ada^')).to.deep.equal(['"u-1"']);
    expect(offered('due > ^')).to.include('"2026-11-24"');
    expect(offered('created_at < ^')).to.include('now()');
    expect(offered('urgent == ^')).to.include('true');
  });

  it('offers the day of the reader, not that of UTC', () => {
    const zone = process.env.TZ;
    process.env.TZ = 'Pacific/Auckland';
    try {
      const { suggestions } = completeFilter('due > ', 6, NAMES, NOW) ?? { suggestions: [] };
      expect(suggestions.map(({ label }) => label)).to.include('"2026-11-25"');
    } finally {
      if (zone === undefined) delete process.env.TZ;
      else process.env.TZ = zone;
    }
  });

  it('offers nothing in a text, in the object form, or after an invalid expression', () => {
    for (const text of ['name == "a^', '{"name": ^', 'worth > #^', 'unknown ^']) {
      expect(offered(text), text).to.deep.equal([]);
    }
    expect(offered('worth > 10^')).to.deep.equal(['&&', '||']);
  });

  it('makes filters that the server understands, from first suggestions alone', () => {
    const fields = {
      name: { type: 'text' },
      worth: { type: 'decimal' },
      kind: { type: 'enum', options: ['cold', 'warm'] },
      owner: { type: 'user' },
      due: { type: 'date' },
      urgent: { type: 'boolean' },
    } as const;
    for (const { key } of NAMES) {
      for (let operator = 0; operator < 2; operator += 1) {
        let text = `${key} `;
        for (const choice of [operator, 0]) {
          const found = completeFilter(text, text.length, NAMES, NOW);
          const one = found?.suggestions[choice];
          expect(one, text).not.to.equal(undefined);
          text = text.slice(0, found?.from) + one?.text + text.slice(found?.to);
        }
        expect(() => parseFilter(text, fields), text).not.to.throw();
      }
    }
  });
});
