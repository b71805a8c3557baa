import { createHash } from 'node:crypto';
import { expect } from 'chai';
import fc from 'fast-check';
import { z } from 'zod';
import { CHAIN_START, type ChainLink, EventCodec } from '../../../../application/core/events/event-codec.ts';
import { UndecodableEvent } from '../../../../application/core/events/upcasting.ts';
import { KeyRing } from '../../../../application/core/privacy/key-ring.ts';
import type { NewEvent, StoredEvent } from '../../../../application/ports/event-store.ts';
import { canonicalJson } from '../../../../domain/core/canonical-json.ts';
import { defineEvent, type EventDefinition } from '../../../../domain/core/event.ts';
import { formatPosition } from '../../../../infrastructure/event-store/positions.ts';
import { BOOK, bookEvents, causeOf } from '../../../support/book.ts';
import { chainFaults } from '../../../support/chain.ts';
import { memoryKeyStore } from '../../../support/fakes.ts';
import { BEGINNING } from '../../../support/given.ts';
import { MASTER_KEY } from '../../../support/node.ts';

const ring = (): KeyRing => new KeyRing(memoryKeyStore(), MASTER_KEY);
const id = (n: number): string => `00000000-0000-7000-8000-${String(n).padStart(12, '0')}`;
const place = (stored: NewEvent, revision: number): StoredEvent => ({
  ...stored,
  stream: BOOK,
  revision,
  position: formatPosition(revision + 1),
});

const TRACED = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;

/** Encodes a chain of entries; `reader` is a new codec that can decode the chain. */
const chainOf = (texts: readonly string[], keys = ring()) => {
  const codec = new EventCodec(bookEvents, keys);
  let last: ChainLink = CHAIN_START;
  const stored = texts.map((text, n) => {
    const data = { entry: `e${n}`, number: n, text };
    const type = n % 2 === 0 ? 'SecretWritten' : 'EntryWritten';
    for (const key of codec.keyIds('acme', { type, data })) if (!keys.has(key)) keys.create(key);
    const encoded = codec.encode(
      BOOK,
      'acme',
      last,
      { id: id(n), type, data, at: BEGINNING + n },
      // Some events of a chain are traced, others not.
      n % 3 === 1 ? { ...causeOf(`c${n}`), traceparent: TRACED } : causeOf(`c${n}`),
    );
    last = encoded.recorded;
    return place(encoded.stored, n);
  });
  return { stored, keys, reader: new EventCodec(bookEvents, keys) };
};

describe('the event codec', () => {
  it('refuses an event with an unknown type or newer version, or with malformed data or metadata', () => {
    const { stored, reader } = chainOf(['a', 'b']);
    const [, entry] = stored;
    if (entry === undefined) throw new Error('an entry is stored');
    const other = (change: (text: string) => string): StoredEvent => ({
      ...entry,
      metadata: change(entry.metadata),
    });
    const newer = other((text) => text.replace(/"schema_version":\d+/, '"schema_version":99'));
    expect(() => reader.decodeOnce(newer)).to.throw(UndecodableEvent, 'newer');
    for (const change of [
      (text: string) => text.replace(/"hash":"[0-9a-f]{64}"/, '"hash":7'),
      (text: string) => text.replace('"occurred_at":"2', '"occurred_at":"x'),
      (text: string) =>
        text.replace(/"occurred_at":"[^"]+"/, '"occurred_at":"2026-01-01T00:00:00.000 or so"'),
      () => 'nothing',
    ]) {
      expect(() => reader.decodeOnce(other(change))).to.throw(UndecodableEvent);
    }
    expect(() => reader.decodeOnce({ ...entry, data: '{' })).to.throw(UndecodableEvent);
    expect(() => reader.decodeOnce({ ...entry, data: '{}' })).to.throw(UndecodableEvent);
    expect(() => reader.decodeOnce({ ...entry, data: 'null' })).to.throw(UndecodableEvent);
    expect(() => reader.decodeOnce({ ...entry, type: 'Unheard' })).to.throw(UndecodableEvent);
  });

  it('decodes encoded events with sealed personal fields', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ unit: 'grapheme' }), { minLength: 1, maxLength: 5 }),
        async (texts) => {
          const { stored, keys, reader } = chainOf(texts);
          for (const [n, event] of stored.entries()) {
            const decoded = reader.decode(event);
            const { text, ...rest } = z
              .object({ text: z.string(), entry: z.string(), number: z.number() })
              .parse(decoded.data);
            expect(rest).to.deep.equal({ entry: `e${n}`, number: n });
            expect(n % 2 === 0 ? await keys.open(text) : text).to.equal(texts[n]);
            expect(decoded).to.include({
              id: id(n),
              stream: BOOK,
              tenantId: 'acme',
              revision: n,
              at: BEGINNING + n,
            });
            expect(decoded).to.include({
              correlationId: `request-c${n}`,
              causationId: `c${n}`,
              impersonatedBy: undefined,
            });
            expect(decoded.actor).to.deep.equal({ kind: 'user', id: 'ann' });
          }
        },
      ),
    );
  });

  it('decodes its own events like any other codec', () => {
    const keys = ring();
    const codec = new EventCodec(bookEvents, keys);
    keys.create('acme/message-e');
    const event = {
      id: id(1),
      type: 'SecretWritten',
      data: { entry: 'e', number: 1, text: 'x' },
      at: BEGINNING,
    };
    const cause = { ...causeOf('c'), impersonatedBy: 'root@example.com' };
    const stored = place(codec.encode(BOOK, 'acme', CHAIN_START, event, cause).stored, 0);
    expect(codec.decode(stored)).to.deep.equal(new EventCodec(bookEvents, keys).decode(stored));
  });

  it('stores no personal text', () => {
    const { stored } = chainOf(['a very personal text']);
    expect(JSON.stringify(stored)).not.to.include('personal text');
  });

  it('stores canonical JSON with the documented metadata names', () => {
    for (const [n, { data, metadata }] of chainOf(['x', 'y']).stored.entries()) {
      expect(data).to.equal(canonicalJson(JSON.parse(data)));
      expect(metadata).to.equal(canonicalJson(JSON.parse(metadata)));
      expect(Object.keys(JSON.parse(metadata))).to.deep.equal([
        '$causationId',
        '$correlationId',
        'actor',
        'hash',
        'occurred_at',
        'prev_hash',
        'schema_version',
        'tenant_id',
        ...(n === 1 ? ['traceparent'] : []),
      ]);
    }
  });

  it('stores canonical metadata under impersonation and with hostile ids', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (actor, request) => {
        const codec = new EventCodec(bookEvents, ring());
        const cause = {
          actor: { kind: 'user' as const, id: actor },
          impersonatedBy: actor,
          correlationId: request,
          causationId: request,
        };
        const event = { id: id(1), type: 'BookClosed', data: {}, at: BEGINNING };
        const stored = place(codec.encode(BOOK, 'acme', CHAIN_START, event, cause).stored, 0);
        expect(stored.metadata).to.equal(canonicalJson(JSON.parse(stored.metadata)));
        expect(chainFaults([stored])).to.deep.equal([]);
        expect(new EventCodec(bookEvents, ring()).decode(stored)).to.deep.include({
          actor: cause.actor,
          impersonatedBy: actor,
        });
      }),
    );
  });

  describe('chains a stream', () => {
    it('as the published recipe verifies', () => {
      expect(chainFaults(chainOf(['a', 'b', 'ü😀', '']).stored)).to.deep.equal([]);
    });

    it('from 64 zeros before the first event', () => {
      const [first] = chainOf(['a']).stored;
      expect(JSON.parse(first?.metadata ?? '{}').prev_hash).to.equal('0'.repeat(64));
    });

    it('by SHA-256 of previous hash, stream, revision, id, type, data and metadata', () => {
      const [first] = chainOf(['a', 'b']).stored.slice(1);
      if (first === undefined) throw new Error('no event');
      const { hash, ...rest } = JSON.parse(first.metadata);
      const lines = [rest.prev_hash, BOOK, '1', first.id, 'EntryWritten', first.data, canonicalJson(rest)];
      expect(createHash('sha256').update(lines.join('\n'), 'utf8').digest('hex')).to.equal(hash);
    });

    it('so that any changed byte is detected', () => {
      const { stored } = chainOf(['first', 'second', 'third']);
      const field = fc.constantFrom('data' as const, 'metadata' as const, 'id' as const, 'type' as const);
      fc.assert(
        fc.property(fc.nat(2), field, fc.nat(), fc.integer({ min: 1, max: 126 }), (n, name, at, by) => {
          const tampered = stored.map((event, index) => {
            if (index !== n) return event;
            const place = at % event[name].length;
            const code = ((event[name].charCodeAt(place) - 1 + by) % 127) + 1;
            return {
              ...event,
              [name]: event[name].slice(0, place) + String.fromCharCode(code) + event[name].slice(place + 1),
            };
          });
          expect(chainFaults(tampered)).not.to.deep.equal([]);
        }),
        { numRuns: 500 },
      );
    });

    it('so that an event missing before the last, repeated or moved is detected', () => {
      const [a, b, c] = chainOf(['a', 'b', 'c']).stored;
      if (a === undefined || b === undefined || c === undefined) throw new Error('no events');
      for (const wrong of [
        [a, c],
        [b, c],
        [a, a, b, c],
        [a, c, b],
      ])
        expect(chainFaults(wrong)).not.to.deep.equal([]);
    });
  });

  describe('refuses to decode', () => {
    const [event] = chainOf(['a']).stored.map((stored) => stored);
    if (event === undefined) throw new Error('no event');
    const metadata = JSON.parse(event.metadata);
    const refused = (
      change: Partial<StoredEvent>,
      definitions: readonly EventDefinition[] = bookEvents,
    ): void => {
      expect(() => new EventCodec(definitions, ring()).decode({ ...event, ...change })).to.throw(
        UndecodableEvent,
      );
    };
    const versioned = (version: unknown) => ({
      metadata: JSON.stringify({ ...metadata, schema_version: version }),
    });

    it('an unknown type', () => refused({ type: 'BookBurnt' }));
    it('a version without an upcaster', () => refused(versioned(0)));
    it('a version newer than its own', () => refused(versioned(2)));
    it('a version that is not an integer', () => {
      refused(versioned('1'));
      refused(versioned(1.5));
    });
    it('data that the schema refuses', () => {
      for (const data of ['{}', 'null', '[]', '{"entry":1,"number":1,"text":"x"}']) refused({ data });
    });
    it('data that is not JSON, and metadata that is not JSON or lacks fields', () => {
      refused({ data: '{' });
      refused({ metadata: '{' });
      refused({ metadata: '{}' });
      refused({ metadata: 'null' });
    });
    it('data that the upcaster cannot convert', () => {
      const upcaster = (data: unknown) => z.object({ never: z.string() }).parse(data);
      const newer = defineEvent('SecretWritten', z.object({}), { version: 2, upcasters: { 1: upcaster } });
      refused({}, [newer]);
    });
    it('an invalid time', () => {
      refused({ metadata: JSON.stringify({ ...metadata, occurred_at: 'yesterday' }) });
    });
  });

  it('applies every upcaster to an old event', () => {
    const renamed = defineEvent('EntryWritten', z.object({ title: z.string(), pages: z.number() }), {
      version: 3,
      upcasters: {
        1: (data) => ({ title: z.object({ text: z.string() }).parse(data).text }),
        2: (data) => ({ ...z.object({ title: z.string() }).parse(data), pages: 1 }),
      },
    });
    const old = chainOf(['a', 'An old title']).stored[1];
    if (old === undefined) throw new Error('no event');
    const decoded = new EventCodec([renamed], ring()).decode(old);
    expect(decoded.data).to.deep.equal({ title: 'An old title', pages: 1 });
    expect(
      chainFaults([old], 1, JSON.parse(old.metadata).prev_hash),
      'the stored event is as it was',
    ).to.deep.equal([]);
  });
});
