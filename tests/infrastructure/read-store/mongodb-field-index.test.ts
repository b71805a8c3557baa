import { expect } from 'chai';
import type { IndexSpecification } from 'mongodb';
import { parseFilter } from '../../../domain/expressions/filter.ts';
import { fieldIndexOf, indexFields } from '../../../infrastructure/read-store/mongodb/field-index.ts';
import { filterQuery } from '../../../infrastructure/read-store/mongodb/filter-query.ts';

const FIELDS = { n: { type: 'integer' }, title: { type: 'text' } } as const;

/** A database whose server says that it has this version. */
const serverOf = (...versionArray: number[]): Parameters<typeof fieldIndexOf>[0] => ({
  admin: () => ({ command: async () => ({ ok: 1, versionArray }) }),
});

describe('The index over fields in MongoDB', () => {
  it('is made where the server has compound wildcard indexes', async () => {
    expect(await fieldIndexOf(serverOf(7, 0, 14, 0))).to.equal(indexFields);
    expect(await fieldIndexOf(serverOf(8, 2, 0, 0))).to.equal(indexFields);
    for (const version of [4, 5, 6]) expect(await fieldIndexOf(serverOf(version, 0))).to.equal(undefined);
  });

  it('begins with the tenant, and covers the fields that filters compare', async () => {
    const asked: IndexSpecification[] = [];
    await indexFields({
      collectionName: 'docs',
      createIndex: async (keys: IndexSpecification) => {
        asked.push(keys);
        return 'fields';
      },
    });
    expect(asked).to.deep.equal([{ tenant: 1, 's.$**': 1 }]);
    const query = filterQuery(parseFilter('n > 1 && title == "x" && state == "open"', FIELDS), 0);
    expect(JSON.stringify(query).match(/"s\.[^"]+"/g)).to.deep.equal([
      '"s.keys.n"',
      '"s.keys.title"',
      '"s.state"',
    ]);
  });
});
