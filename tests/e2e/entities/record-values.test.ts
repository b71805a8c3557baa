import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { forSuite } from '../../support/suite.ts';
import { adaWithTasks, at, create, define, record } from './support.ts';

/** Decisions, section 6, Record. */
describe('Records', () => {
  const here = forSuite(adaWithTasks);

  describe('values', () => {
    const kept = async (type: string, value: unknown, more: object = {}) => {
      const name = await define(here().admin, { key: 'v', type, ...more });
      const answer = await here().ada.api.post(at(name), { values: { v: value } });
      return answer.status === 201 ? answer.as(record, 201).values.v : `${answer.status}`;
    };
    const ROWS: readonly [
      type: string,
      good: readonly [unknown, unknown?][],
      bad: readonly [unknown, string][],
    ][] = [
      [
        'text',
        [['ä\n😀'], ['😀'.repeat(10_000)]],
        [
          [1, '400'],
          ['a\u0000', '400'],
          ['\ud800', '400'],
          ['x'.repeat(10_001), '422'],
        ],
      ],
      [
        'long_text',
        [['😀'.repeat(50_000)]],
        [
          [{}, '400'],
          ['x'.repeat(100_001), '422'],
        ],
      ],
      [
        'integer',
        [[0], [-5], [2 ** 53 - 1], [1e3, 1000]],
        [
          ['1', '400'],
          [1.5, '400'],
          [2 ** 53, '400'],
          [true, '400'],
        ],
      ],
      [
        'decimal',
        [['0.10'], ['-12345678901234567890.12345'], ['9'.repeat(38)]],
        [
          [1, '400'],
          ['1e3', '400'],
          ['.5', '400'],
          ['01', '400'],
          ['+1', '400'],
          ['', '400'],
          ['9'.repeat(39), '400'],
        ],
      ],
      [
        'boolean',
        [[true], [false]],
        [
          ['true', '400'],
          [0, '400'],
        ],
      ],
      [
        'date',
        [['2024-02-29']],
        [
          ['2023-02-29', '400'],
          ['2024-2-1', '400'],
          ['2024-13-01', '400'],
          ['2024-01-01T00:00:00Z', '400'],
          [1, '400'],
        ],
      ],
      [
        'datetime',
        [
          ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00.000Z'],
          ['2026-01-01T00:30:00.5+01:00', '2025-12-31T23:30:00.500Z'],
        ],
        [
          ['2026-01-01T00:00:00', '400'],
          ['2026-01-01', '400'],
          ['2026-01-01T25:00:00Z', '400'],
          [0, '400'],
        ],
      ],
      [
        'json',
        [[[]], [{ a: [null, true, 'x', 1.5] }], [false]],
        [
          [deep(40), '400'],
          ['x'.repeat(70_000), '400'],
        ],
      ],
      [
        'reference',
        [],
        [
          [1, '400'],
          ['no-id', '422'],
          [randomUUID(), '422'],
          [randomUUID().toUpperCase(), '422'],
        ],
      ],
      [
        'user',
        [],
        [
          [1, '400'],
          ['nobody', '422'],
          [`a${'b'.repeat(500)}`, '422'],
        ],
      ],
    ];
    for (const [type, good, bad] of ROWS) {
      it(`of type ${type} are stored in their canonical form, or refused`, async () => {
        const { task } = here();
        const more = type === 'reference' ? { reference: { entity_name: task, on_delete: 'clear' } } : {};
        for (const [value, as = value] of good) expect(await kept(type, value, more)).to.deep.equal(as);
        for (const [value, status] of bad) {
          expect(await kept(type, value, more), JSON.stringify(value).slice(0, 60)).to.equal(status);
        }
      });
    }

    it('of a reference field name a record of the field’s entity', async () => {
      const { admin, ada, task } = here();
      const other = await define(admin);
      const wrong = await create(ada, other);
      const right = await create(ada, task, { title: 'x' });
      const more = { reference: { entity_name: task, on_delete: 'clear' } };
      expect(await kept('reference', wrong.id, more)).to.equal('422');
      expect(await kept('reference', right.id, more)).to.equal(right.id);
    });

    it('of a user field name a person of the tenant', async () => {
      const { world, ada } = here();
      const stranger = await (await world.tenant()).person('Stranger');
      expect(await kept('user', ada.id)).to.equal(ada.id);
      expect(await kept('user', stranger.id)).to.equal('422');
    });
  });
});

function deep(depth: number): unknown {
  return depth === 0 ? 1 : [deep(depth - 1)];
}
