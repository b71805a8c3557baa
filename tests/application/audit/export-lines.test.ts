import { expect } from 'chai';
import fc from 'fast-check';
import { ExportLines } from '../../../application/audit/export-lines.ts';
import { exportLine } from '../../../application/audit/line.ts';
import { plainMetadata } from '../../../application/audit/metadata-text.ts';
import { OpenedViews } from '../../../application/audit/opened-views.ts';
import { Replay } from '../../../application/audit/replay.ts';
import { canonicalJson } from '../../../application/canonical-json.ts';
import { SLOTS, slotOf } from '../../../application/key-pages.ts';
import type { NewEvent } from '../../../application/ports/event-store.ts';
import { KeyRing } from '../../../application/sealing.ts';
import { catalogue } from '../../../domain/catalogue.ts';
import { event } from '../../contract/event-store-parts/helpers.ts';
import { withEachEventStore } from '../../support/event-stores.ts';
import { memoryKeyStore } from '../../support/fakes.ts';
import { MASTER_KEY } from '../../support/node.ts';

const TENANT = 'acme';
const HEX = '0123456789abcdef'.repeat(4);

/** Keys, of which some are destroyed, and texts sealed with them. */
const sealing = async () => {
  const store = memoryKeyStore();
  const keys = new KeyRing(store, MASTER_KEY);
  const ids = ['message-a', 'person-b', 'person-gone'].map((id) => `${TENANT}/${id}`);
  await keys.persist(ids.map((id) => keys.create(id)));
  const sealed = ids.map((id) => keys.seal(id, 'Line\n"feed" 😀 \u2028 {"body":"x"}'));
  await keys.destroy(ids[2] ?? '');
  const others = ['v1:other/person-x:AAAA', 'v1:acme/person-b:AAAA', 'plain', 'v1:'];
  return {
    keys,
    /** Of another process, which has no key in memory. */
    fresh: () => new KeyRing(store, MASTER_KEY),
    sealed: [...sealed, ...others, ...(await inPages(keys))],
  };
};

/** Texts whose keys lie in pages, or seem to. */
const inPages = async (keys: KeyRing): Promise<string[]> => {
  const ids: string[] = [];
  while (ids.length < 130) ids.push(`${TENANT}/${await keys.newTextKey(TENANT)}`);
  const [first = '', second = '', erased = ''] = ids;
  const last = ids.at(-1) ?? '';
  // The second is longer as JSON than sealed.
  const sealed = [keys.seal(first, 'One'), keys.seal(second, '\0'.repeat(300)), keys.seal(last, 'Last')];
  const gone = keys.seal(erased, 'Erased');
  await keys.destroy(erased);
  const [whole = ''] = sealed;
  return [
    ...sealed,
    gone,
    keys.seal(erased, 'Never'),
    // Another tenant's, of a page that is there; of none; damaged; cut short; and with the id of a key in that of another.
    whole.replace(TENANT, 'other'),
    `v1:${TENANT}/message-01234567-89ab-4cde-8f01-23456789abcd.5:AAAA`,
    `${whole.slice(0, -6)}AAAAA=`,
    `v1:${first}:AAAA`,
    `v1:${first}:${last}:${whole.slice(whole.lastIndexOf(':') + 1)}`,
    `v1:${first}:x:`,
  ];
};

const metadataOf = (parts: Readonly<Record<string, unknown>> = {}) =>
  canonicalJson({
    $causationId: 'c',
    $correlationId: 'r',
    actor: { id: 'ann', kind: 'user' },
    hash: HEX,
    occurred_at: '2026-01-01T00:00:00.000Z',
    prev_hash: HEX,
    schema_version: 1,
    tenant_id: TENANT,
    ...parts,
  });

const text = fc.oneof(
  fc.string({ unit: 'binary' }).map((one) => one.toWellFormed()),
  fc.constantFrom('"', '\\', '}', '{'),
);
const metadata = fc.oneof(
  fc.record({ $causationId: text, tenant_id: text, schema_version: fc.nat(2_000_000_000) }).map(metadataOf),
  fc
    .record({ actor: fc.record({ id: text, kind: text, user_id: text }), impersonated_by: text })
    .map(metadataOf),
  fc.constantFrom(
    '{}',
    '[]',
    'null',
    '{"a":1,}',
    metadataOf().replace('{', '{ '),
    metadataOf().replace(':1,', ':01,'),
  ),
  // One unit changed, as a damaged file has it.
  fc.tuple(fc.nat(400), fc.constantFrom('"', '\\', 'x', '\n', '\t', ',')).map(([at, unit]) => {
    const whole = metadataOf();
    return whole.slice(0, at) + unit + whole.slice(at + 1);
  }),
);

/**
 * Without a backslash: V8 reads a name that begins with an escape as another one when it has seen an object whose name
 * at this place is a backslash (JSON.parse of '{"\\\\":1}', then of '{"\\"":1}'), and no way of making lines changes that.
 */
const name = text.map((one) => one.replaceAll('\\', '/'));

/** Data of each type: its personal fields with whatever may stand there, also twice, nested, or in other names. */
const dataOf = (personal: readonly string[], sealed: readonly string[]): fc.Arbitrary<string> => {
  const value = fc.oneof(fc.constantFrom(...sealed), text, fc.constantFrom(null, 1, true));
  const members = fc.array(
    fc.tuple(
      fc.oneof(
        fc.constantFrom(...personal, 'other'),
        name,
        fc.constantFrom(...personal.map((one) => `a,"${one}`)),
      ),
      value,
    ),
    { maxLength: 5 },
  );
  const written = members.map(
    (all) => `{${all.map(([name, one]) => `${JSON.stringify(name)}:${JSON.stringify(one)}`).join(',')}}`,
  );
  return fc.oneof(
    { weight: 4, arbitrary: written },
    written.map((inner) => `{"nested":${inner}}`),
    fc.tuple(written, written).map(([a, b]) => `{"nested":${a},${b.slice(1)}`),
    written.map((one) => one.replace(':', ' :\n')),
    written.map((one) => one.slice(0, -1)),
    written.map((one) =>
      one.replace(
        /^\{"(.)/,
        (_all, first: string) => `{"\\u00${first.charCodeAt(0).toString(16).padStart(2, '0')}`,
      ),
    ),
  );
};

withEachEventStore((open) => {
  describe('The lines of an export, made of the stored texts', () => {
    it('are those that opening and writing each event gives, whatever is stored, for every type', async () => {
      const { keys, fresh, sealed } = await sealing();
      const store = await open();
      const types = [...catalogue, { type: 'Unknown "type', personal: {} }];
      await fc.assert(
        fc.asyncProperty(
          fc.tuple(
            ...types.map(({ type, personal }) => {
              const names = Object.keys(personal);
              return fc.tuple(dataOf(names.length > 0 ? names : ['body'], sealed), metadata).map(
                ([data, own]): NewEvent => ({
                  ...event(),
                  type,
                  // The store takes no half of a surrogate pair, which cutting texts may leave.
                  data: data.toWellFormed(),
                  metadata: own.toWellFormed(),
                }),
              );
            }),
          ),
          async (events) => {
            const before = await store.head();
            await store.append(`${TENANT}.x-"1"`, 'any', events);
            const stored = await store.readAll({ from: before, limit: 1000 });
            const expected = (await new OpenedViews(catalogue, keys).open(stored))
              .map(exportLine)
              .map(parsed);
            const lines = await new ExportLines(catalogue, fresh()).of(stored, `${TENANT}.`);
            expect(linesIn(lines)).to.deep.equal(expected);
            // Whoever makes them, and whatever else is read with them, they are the same bytes.
            const alone: Uint8Array[] = [];
            for (const one of stored)
              alone.push(await new ExportLines(catalogue, fresh()).of([one], `${TENANT}.`));
            expect(Buffer.concat(alone).equals(lines)).to.equal(true);
            for (const ring of [fresh(), keys]) {
              const replay = new Replay({ events: store, catalogue, keys: ring });
              const exported = replay.export(TENANT, { after: before });
              expect(await bytesOf(exported)).to.equal(Buffer.from(lines).toString('latin1'));
            }
          },
        ),
        { numRuns: 60, endOnFailure: true },
      );
    }).timeout(120_000);

    it('ask for the pages of keys that they are opened with, and wipe them', async () => {
      const { fresh, sealed } = await sealing();
      const store = await open();
      const keys = fresh();
      const asked: (readonly string[])[] = [];
      const wiped: (() => boolean)[] = [];
      const openPages = keys.openPages.bind(keys);
      keys.openPages = async (ids) => {
        const pages = await openPages(ids);
        asked.push(ids);
        wiped.push(() => ids.every((_, page) => slots.every((slot) => pages.isGone(page, slot))));
        return pages;
      };
      const own = sealed.find((one) => one.startsWith(`v1:${TENANT}/message-`) && one.includes('.0:')) ?? '';
      const append = (bodies: readonly string[]) =>
        store.append(
          `${TENANT}.conversation-1`,
          'any',
          bodies.map((body) => ({ ...event(), type: 'MessageSent', data: JSON.stringify({ body }) })),
        );
      await append([own.replace(TENANT, 'other')]);
      const exported = () => bytesOf(new Replay({ events: store, catalogue, keys }).export(TENANT, {}));
      expect(await exported()).to.contain('"body":"[unreadable]"');
      expect(asked.flat()).to.deep.equal([]);
      await append([own, own]);
      expect(await exported()).to.contain('"body":"One"');
      expect(asked.flat()).to.deep.equal([slotOf(own.slice(3, own.lastIndexOf(':')))?.page]);
      expect(wiped.map((isWiped) => isWiped())).to.not.contain(false);
    });
  });
});

const slots = Array.from({ length: SLOTS }, (_, slot) => slot);

/** The view as JSON, and everything else to the byte. */
const parsed = (line: string): unknown => {
  const { data, metadata: own, ...rest } = JSON.parse(line);
  return { data, own, sealed: line.slice(line.lastIndexOf(',"sealed":')).trimEnd(), ...rest };
};

const linesIn = (bytes: Uint8Array): unknown[] =>
  Buffer.from(bytes).toString('utf8').split('\n').slice(0, -1).map(parsed);

const bytesOf = async (pieces: AsyncIterable<Uint8Array>): Promise<string> => {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(Buffer.from(piece));
  return Buffer.concat(all).toString('latin1');
};

describe('A metadata text that is read in place', () => {
  it('says what parsing it says, and is JSON whenever it is read', () => {
    let read = 0;
    fc.assert(
      fc.property(metadata, (whole) => {
        const plain = plainMetadata(whole, JSON.stringify(whole));
        if (plain === undefined) return;
        read += 1;
        const { actor, occurred_at } = JSON.parse(whole);
        expect(plain).to.deep.equal({ actor: actor.id, occurredAt: occurred_at });
      }),
      { numRuns: 3000, examples: [[metadataOf()]] },
    );
    expect(read).to.be.greaterThan(10);
  });
});
