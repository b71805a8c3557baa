import { expect } from 'chai';
import fc from 'fast-check';
import { EventExport } from '../../../application/audit/event-export.ts';
import { KeyRing } from '../../../application/core/privacy/key-ring.ts';
import { type EventStore, type NewEvent, StoreUnavailable } from '../../../application/ports/event-store.ts';
import { catalogue } from '../../../domain/catalogue.ts';
import { canonicalJson } from '../../../domain/core/canonical-json.ts';
import { event } from '../../contract/event-store-parts/helpers.ts';
import { fillAuditLog } from '../../support/audit-log.ts';
import { withEachEventStore } from '../../support/event-stores.ts';
import { memoryKeyStore } from '../../support/fakes.ts';
import { openMemoryEventStore } from '../../support/memory-event-store.ts';
import { MASTER_KEY } from '../../support/node.ts';

const TENANT = 'acme';
const HEX = '0123456789abcdef'.repeat(4);
const SECRET_TEXT = 'Line\n"feed" 😀 \u2028 {"body":"x"}';

/** Sealed texts with the text an auditor reads; some keys are destroyed, some texts damaged. */
const sealing = async () => {
  const store = memoryKeyStore();
  const keys = new KeyRing(store, MASTER_KEY);
  const ids = ['message-a', 'person-b', 'person-gone'].map((id) => `${TENANT}/${id}`);
  await keys.persist(ids.map((id) => keys.create(id)));
  const [text = '', person = '', gone = ''] = ids.map((id) => keys.seal(id, SECRET_TEXT));
  const pageIds = [
    `${TENANT}/${await keys.newTextKey(TENANT)}`,
    `${TENANT}/${await keys.newTextKey(TENANT)}`,
  ];
  const [paged = '', erased = ''] = pageIds.map((id) => keys.seal(id, 'In a page'));
  await keys.destroy(ids[2] ?? '');
  await keys.destroy(pageIds[1] ?? '');
  const shown = new Map([
    [text, SECRET_TEXT],
    [person, SECRET_TEXT],
    [gone, '[erased]'],
    [paged, 'In a page'],
    [erased, '[erased]'],
    [paged.replace(TENANT, 'other'), '[unreadable]'],
    [`${paged.slice(0, -6)}AAAAA=`, '[unreadable]'],
    ['v1:other/person-x:AAAA', '[unreadable]'],
    ['plain', '[unreadable]'],
    ['v1:', '[unreadable]'],
  ]);
  return { shown, sealed: [...shown.keys()], fresh: () => new KeyRing(store, MASTER_KEY), keys };
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
  // A text with one changed character, as in a damaged file.
  fc.tuple(fc.nat(400), fc.constantFrom('"', '\\', 'x', '\n', '\t', ',')).map(([at, unit]) => {
    const whole = metadataOf();
    return whole.slice(0, at) + unit + whole.slice(at + 1);
  }),
);

/**
 * A name has no backslash, because of a bug of V8: after JSON.parse has parsed an object with the name `\\`, it returns
 * a wrong name for a name that starts with an escape ('{"\\\\":1}', then '{"\\"":1}').
 */
const name = text.map((one) => one.replaceAll('\\', '/'));

/** Data of an event: its personal fields with any value, repeated, nested or under other names. */
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

/** The expected view of an event’s data: personal fields opened, the rest as stored. */
const viewOf = ({ type, data }: NewEvent, shown: ReadonlyMap<string, string>): unknown => {
  const stored = parsed(data);
  if (stored === null) return null;
  const { personal = {}, secret = [] } = catalogue.find((definition) => definition.type === type) ?? {};
  for (const field of Object.keys(personal)) {
    const value = stored[field];
    if (typeof value !== 'string') continue;
    stored[field] = secret.includes(field) ? '[secret]' : (shown.get(value) ?? '[unreadable]');
  }
  return stored;
};

const parsed = (json: string): Record<string, unknown> | null => {
  try {
    const value: unknown = JSON.parse(json);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
    return Object.fromEntries(Object.entries(value));
  } catch {
    return null;
  }
};

const bytesOf = async (pieces: AsyncIterable<Uint8Array>): Promise<Buffer> => {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all);
};

const linesOf = async (pieces: AsyncIterable<Uint8Array>) =>
  (await bytesOf(pieces))
    .toString('utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));

withEachEventStore((open) => {
  describe('The export of a tenant’s events', function () {
    this.timeout(120_000);

    it('shows each type of event opened beside its exact stored texts', async () => {
      const { shown, sealed, fresh, keys } = await sealing();
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
                  // The store refuses lone surrogates, which cutting texts may leave.
                  data: data.toWellFormed(),
                  metadata: own.toWellFormed(),
                }),
              );
            }),
          ),
          async (events) => {
            const after = await store.end();
            await store.append(`${TENANT}.x-"1"`, 'any', events);
            for (const ring of [fresh(), keys]) {
              const lines = await linesOf(
                new EventExport({ events: store, catalogue, keys: ring }).export(TENANT, { after }),
              );
              expect(lines.map(({ sealed: texts }) => texts)).to.deep.equal(
                events.map(({ data, metadata: own }) => ({ data, metadata: own })),
              );
              expect(lines.map(({ data, metadata: own }) => [data, own])).to.deep.equal(
                events.map((one) => [viewOf(one, shown), parsed(one.metadata)]),
              );
            }
          },
        ),
        { numRuns: 40, endOnFailure: true },
      );
    });

    it('gives the same bytes to several concurrent readers when some stop early', async () => {
      const store = await open();
      const keyStore = memoryKeyStore();
      await fillAuditLog(store, keyStore, TENANT, 3000, 40);
      const exported = () =>
        new EventExport({ events: store, catalogue, keys: new KeyRing(keyStore, MASTER_KEY) }).export(
          TENANT,
          {},
        );
      const expected = await bytesOf(exported());
      const leaves = async (): Promise<void> => {
        for await (const _piece of exported()) return;
      };
      const [first, , second] = await Promise.all([bytesOf(exported()), leaves(), bytesOf(exported())]);
      expect(first.equals(expected)).to.equal(true);
      expect(second.equals(expected)).to.equal(true);
    });

    it('gives the same bytes as the memory store', async () => {
      const keyStore = memoryKeyStore();
      const store = await open();
      await fillAuditLog(store, keyStore, TENANT, 500, 40);
      const copy = openMemoryEventStore();
      const stored = await store.readAll({ limit: 1000 });
      for (const { stream, ...one } of stored) await copy.append(stream, 'any', [one]);
      const exported = (events: EventStore) =>
        bytesOf(
          new EventExport({ events, catalogue, keys: new KeyRing(keyStore, MASTER_KEY) }).export(TENANT, {}),
        );
      // Positions depend on the store.
      const textOf = (bytes: Buffer) => bytes.toString('utf8').replace(/^\{"position":"[^"]*"/gm, '{');
      expect(textOf(await exported(store))).to.equal(textOf(await exported(copy)));
    });

    it('ends incomplete at an event that cannot be read', async () => {
      const store = await open();
      const keyStore = memoryKeyStore();
      await fillAuditLog(store, keyStore, TENANT, 2000, 40);
      let pages = 0;
      const events: EventStore = {
        ...store,
        scanAll: async (...args) => {
          pages += 1;
          if (pages > 1) throw new StoreUnavailable('the row is damaged');
          return store.scanAll(...args);
        },
      };
      const pieces = new EventExport({ events, catalogue, keys: new KeyRing(keyStore, MASTER_KEY) }).export(
        TENANT,
        {},
      );
      let failure: unknown;
      await bytesOf(pieces).catch((error: unknown) => {
        failure = error;
      });
      expect(failure).to.be.instanceOf(StoreUnavailable);
    });
  });
});
