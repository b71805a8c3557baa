import { expect } from 'chai';
import fc from 'fast-check';
import { BSON } from 'mongodb';
import type { JsonObject, JsonValue } from '../../../application/ports/read-store.ts';
import {
  documentIn,
  fieldOf,
  nameOf,
  type StoredFields,
  storedForm,
} from '../../../infrastructure/read-store/mongodb/native-documents.ts';
import { jsonObject } from '../../support/json-values.ts';

/** Serializes and parses, like the driver. */
const sent = (form: StoredFields | string): unknown =>
  BSON.deserialize(BSON.serialize({ value: form }, { ignoreUndefined: true }), { fieldsAsRaw: {} }).value;

const nested = (levels: number, wrap: (value: JsonValue) => JsonValue): JsonValue => {
  let value: JsonValue = 1;
  for (let nth = 0; nth < levels; nth += 1) value = wrap(value);
  return value;
};

function* namesIn(value: unknown): Generator<string> {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, each] of Object.entries(value)) {
    if (!Array.isArray(value)) yield name;
    yield* namesIn(each);
  }
}

describe('Documents as BSON', () => {
  it('are read as equal JSON', () => {
    fc.assert(
      fc.property(jsonObject, fc.boolean(), (value, nestedArrays) => {
        const back = documentIn(sent(storedForm(value, nestedArrays)));
        expect(JSON.stringify(back)).to.equal(JSON.stringify(value));
      }),
      { numRuns: 2000 },
    );
  });

  it('have no field name with a meaning for MongoDB or its driver', () => {
    fc.assert(
      fc.property(jsonObject, (value) => {
        for (const name of namesIn(storedForm(value, true))) {
          expect(name).not.to.match(/^\$|[.\0]|^(?:|_bsontype)$/);
          expect(name in {}, name).to.equal(false);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('have different fields for different names', () => {
    const some = fc.string({ unit: 'binary', maxLength: 8 });
    const close = fc.constantFrom('', '%', '%%', '%25', '$', '%24', '.', '%2E', '__proto__', '%5F_proto__');
    fc.assert(
      fc.property(fc.oneof(some, close), (name) => {
        expect(nameOf(fieldOf(name))).to.equal(name);
      }),
      { numRuns: 2000 },
    );
  });

  it('keep usual names unchanged, and distinguish null from absent', () => {
    const value = {
      entity_name: 'order',
      'größe in %': 1,
      none: null,
      gone: undefined,
      a$b: [null, 1.5, '1.10'],
    };
    expect(storedForm(value, true)).to.deep.equal({
      entity_name: 'order',
      'größe in %25': 1,
      none: null,
      a$b: [null, 1.5, '1.10'],
    });
    expect(documentIn(sent(storedForm(value, true)))).to.deep.equal({
      entity_name: 'order',
      'größe in %': 1,
      none: null,
      a$b: [null, 1.5, '1.10'],
    });
  });

  const texts: [string, JsonObject, boolean][] = [
    ['too deep', { deep: nested(81, (value) => ({ a: value })) }, true],
    ['too deep in arrays', { deep: nested(81, (value) => [value]) }, true],
    ['too many values', { list: Array.from({ length: 100_001 }, () => 1) }, true],
    ['half a surrogate pair', { a: '\ud800' }, true],
    ['half a surrogate pair in a name', { '\udc00': 1 }, true],
    ['an array in an array, where the server takes none', { a: [[1]] }, false],
  ];
  for (const [title, value, nestedArrays] of texts) {
    it(`are stored as JSON text when fields cannot hold them: ${title}`, () => {
      const form = storedForm(value, nestedArrays);
      expect(form).to.equal(JSON.stringify(value));
      expect(documentIn(sent(form))).to.deep.equal(value);
    });
  }

  it('stay within 100 levels, including their row', () => {
    const levelsOf = (value: unknown): number =>
      typeof value === 'object' && value !== null
        ? 1 + Math.max(0, ...Object.values(value).map(levelsOf))
        : 0;
    const form = storedForm({ deep: nested(79, (value) => ({ a: value })) }, true);
    expect(form).to.be.an('object');
    expect(levelsOf({ value: form })).to.be.within(80, 90);
  });

  it('are refused when another program wrote something other than JSON', () => {
    for (const stored of [1, true, [1], new Date(), { at: new Date() }, { id: new BSON.ObjectId() }]) {
      expect(() => documentIn(stored)).to.throw(TypeError);
    }
  });
});
