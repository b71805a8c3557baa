import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { z } from 'zod';
import { endWorld, sharedWorld, type World } from '../../support/world.ts';
import { previewed, RULES, rule } from './rules-support.ts';
import { withBooks } from './support.ts';

const GUIDE = join(import.meta.dirname, '../../../docs/ledger.md');

describe('The guide to posting rules', () => {
  let world: World;
  before(async () => {
    world = await sharedWorld();
  });
  after(endWorld);

  it('has a working example', async () => {
    const [, section = ''] = readFileSync(GUIDE, 'utf8').split('## Posting rules');
    const [body, payload, lines] = [...section.matchAll(/```json\n([^`]+)```/g)].map(
      ([, json = '']): unknown => JSON.parse(json),
    );
    const { admin } = await withBooks(world);
    const made = (await admin.api.post(RULES, body)).as(rule, 201);
    const { entry } = (await admin.api.post(`${RULES}/${made.id}/preview`, payload)).as(previewed);
    const shown = entry?.lines.map(({ account_name: _name, ...line }) => line);
    expect(shown).to.deep.equal(z.array(z.looseObject({})).parse(lines));
    expect(entry).to.include({ date: '2026-03-15', total_debit: 1250, memo: 'Sale' });
  });
});
