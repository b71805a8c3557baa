import { expect } from 'chai';
import { type AttackedLog, type Export, expectFault } from './log.ts';

/** Attacks on the file of an export. */
export const lineAttacks = (at: AttackedLog): void => {
  const { EVENTS, bytesOf, checked, exported, indexAfter, lineOf, textOf, verdictOf, victim } = at;

  describe('that was changed in transit', () => {
    /** Replaces the lines of `[from, to)`. */
    const withLines = (from: number, to: number, ...others: string[]): Export => [
      bytesOf(0, from),
      Buffer.from(others.map((text) => `${text}\n`).join('')),
      bytesOf(to, EVENTS),
    ];

    it('shows that it was cut within a line', async () => {
      const to = [(at.whole[0] as Buffer).subarray(0, -400)];
      expectFault(await checked(to), { kind: 'unreadable_line', line: EVENTS });
    });

    it('shows that lines at its end are missing', async () => {
      const { stream, revision } = lineOf(EVENTS - 1);
      expectFault(await checked(withLines(EVENTS - 1, EVENTS)), {
        kind: 'missing_event',
        stream,
        revision,
      });
    });

    it('shows a repeated line', async () => {
      const { index, stream, revision } = victim('user');
      const to = withLines(index, index, textOf(index));
      expectFault(await checked(to), { kind: 'out_of_order', line: index + 2, stream, revision });
    });

    it('shows two swapped lines of one stream or of two', async () => {
      const { index, stream, revision } = victim('record');
      const next = indexAfter(index, (line) => line.includes(`"stream":"${stream}"`));
      const swap = (a: number, b: number): Export => [
        ...withLines(a, EVENTS, textOf(b)),
        bytesOf(a + 1, b),
        ...withLines(0, b + 1, textOf(a)).slice(1),
      ];
      expectFault(await checked(swap(index, next)), {
        kind: 'missing_event',
        line: index + 1,
        stream,
        revision,
      });
      const other = indexAfter(index, (line) => !line.includes(`"stream":"${stream}"`));
      expect((await checked(swap(index, other))).fault?.line).to.be.within(index + 1, other + 2);
    });

    it('shows a view that differs from the stored text', async () => {
      const { index, line, stream, revision } = victim('record');
      const fault = { kind: 'changed_view', line, stream, revision };
      for (const [from, to] of [
        ['"entity_name":"offer"', '"entity_name":"order"'],
        ['"version":51', '"version":52'],
        ['"kind":"user"', '"kind":"system"'],
      ] as const) {
        const changed = withLines(index, index + 1, textOf(index).replace(from, to));
        expectFault(await checked(changed), fault);
      }
    });

    it('does not prove the opened view of a sealed text', async () => {
      const { index } = victim('conversation');
      const changed = withLines(index, index + 1, textOf(index).replace('about as long', 'about as short'));
      expect((await checked(changed)).verified).to.equal(true);
    });

    it('shows an event of another tenant', async () => {
      const other =
        Buffer.concat(await exported(at.folder, 'other'))
          .toString('utf8')
          .split('\n')[0] ?? '';
      const to = withLines(EVENTS, EVENTS, other);
      expectFault(await verdictOf(to), { kind: 'foreign_event', line: EVENTS + 1 });
    });

    it('shows lines that are not events', async () => {
      for (const text of ['', 'null', '[]', '{}', '{"position":"x"', '\u0000']) {
        expectFault(await verdictOf(withLines(10, 11, text)), { kind: 'unreadable_line', line: 11 });
      }
    });
  });
};
