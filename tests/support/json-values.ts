import fc from 'fast-check';
import type { JsonObject, JsonValue } from '../../application/ports/read-store.ts';

/** JSON with names, numbers and texts that a database may not store unchanged. */

/** Names of fields, without those of one escaped character, which Node itself reads wrongly (decision 70). */
const name = fc
  .oneof(
    fc.constantFrom('', '$', '$set', '$ref', 'a.b', '.', '%', '%%', '%24', '%2', 'a%2Eb', '_id', 'a\u0000'),
    fc.constantFrom(
      '__proto__',
      '_bsontype',
      '%5Fbsontype',
      'constructor',
      'valueOf',
      'firstBatch',
      'toString',
      'toBSON',
      'length',
      '10',
      '2',
    ),
    fc.string({ maxLength: 6 }),
    fc.string({ unit: 'binary', maxLength: 6 }),
  )
  .filter((key) => key.length !== 1 || JSON.stringify(key).length === 3);

const scalar = fc.oneof(
  fc.constantFrom(
    null,
    true,
    false,
    0,
    -0,
    1.5,
    2 ** 31,
    -(2 ** 31) - 1,
    2 ** 53,
    2 ** 63,
    1e21,
    5e-324,
    -1e300,
  ),
  fc.constantFrom('1.10', '1e400', '007', '\u0000', '\ud800', '\u{1f600}', 'NaN', '$a', 'Long'),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.string({ unit: 'binary' }),
);

const tree = fc.letrec<{ value: JsonValue; object: JsonObject }>((tie) => ({
  value: fc.oneof({ maxDepth: 4 }, scalar, fc.array(tie('value'), { maxLength: 4 }), tie('object')),
  // Built from entries, so that `__proto__` is a normal field.
  object: fc
    .array(fc.tuple(name, tie('value')), { maxLength: 5 })
    .map((entries): JsonObject => Object.fromEntries(entries)),
}));

export const jsonObject: fc.Arbitrary<JsonObject> = tree.object;
