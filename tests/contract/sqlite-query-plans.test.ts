import { expect } from 'chai';
import { planIndex } from '../../infrastructure/read-store/index-keys.ts';
import { createSql, entriesSql, findSql, upsertSql } from '../../infrastructure/read-store/sqlite/tables.ts';
import { openSqlite } from '../../infrastructure/sqlite/connection.ts';

/** A page must need one seek and its rows for any number of documents: no scan and no sort. */
describe('SQLite read store: query plans', () => {
  const shape = {
    number: 1,
    indexes: [
      planIndex({ name: 'by_time', fields: ['state', 'at'] }),
      planIndex({ name: 'by_person', fields: ['people.id', 'at'], multi: 'people.id' }),
    ],
  };

  async function planOf(sql: string): Promise<string> {
    const connection = await openSqlite({
      path: ':memory:',
      pragmas: [],
      schema: createSql({ ...shape, searchable: true }),
    });
    const parameters = Array.from({ length: sql.split('?').length - 1 }, () => null);
    const rows = connection.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...parameters);
    connection.close();
    return rows.map((row) => String(row.detail)).join('\n');
  }

  for (const descending of [false, true]) {
    const order = descending ? 'descending' : 'ascending';
    it(`seeks a page of a single-valued index, ${order}`, async () => {
      expect(await planOf(findSql(shape, 0, descending))).to.equal(
        'SEARCH d1 USING INDEX d1_0 (tenant=? AND k0>? AND k0<?)',
      );
    });
    it(`reads entries from the index alone, ${order}`, async () => {
      expect(await planOf(entriesSql(shape, 0, descending))).to.equal(
        'SEARCH d1 USING COVERING INDEX d1_0 (tenant=? AND k0>? AND k0<?)',
      );
    });
    it(`seeks a page of a multi-valued index, ${order}`, async () => {
      expect(await planOf(findSql(shape, 1, descending)).then((plan) => plan.split('\n'))).to.deep.equal([
        'SEARCH e USING PRIMARY KEY (tenant=? AND key>? AND key<?)',
        'SEARCH d USING INDEX sqlite_autoindex_d1_1 (tenant=? AND id=?)',
      ]);
    });
  }

  it('writes a document without a scan', async () => {
    expect(await planOf(upsertSql(shape))).to.not.include('SCAN');
    expect(await planOf(upsertSql({ ...shape, searchable: true }))).to.not.include('SCAN');
  });
});
