import { expect } from 'chai';
import { z } from 'zod';
import { ownerKeyId } from '../../application/core/privacy/key-ids.ts';
import { catalogue } from '../../domain/catalogue.ts';

/** Past participles of the last word of a name: regular ones, and the irregular ones in use. */
const PAST =
  /(ed|Sent|Read|Set|Begun|Written|Paid|Left|Lost|Held|Put|Made|Taken|Withdrawn|Won|Overridden|Forgotten)$/;
const REQUESTED = 'x';

/** Names of the fields of a schema. */
const fieldsOf = (schema: z.ZodType): readonly string[] => {
  const { properties } = z.toJSONSchema(schema);
  return Object.keys(properties ?? {});
};

describe('The event catalogue', () => {
  it('lists each type once', () => {
    const types = catalogue.map((definition) => definition.type);
    expect(new Set(types).size).to.equal(types.length);
  });

  for (const definition of catalogue) {
    describe(definition.type, () => {
      it('has a name in the past tense', () => {
        expect(definition.type).to.match(/^[A-Z][A-Za-z]+$/);
        expect(definition.type).to.match(PAST);
      });

      it('has an object schema', () => {
        expect(z.toJSONSchema(definition.schema)).to.have.property('type', 'object');
        expect(definition.schema.safeParse(null).success).to.equal(false);
      });

      it('has every personal field in its schema, as a text', () => {
        const json = z.toJSONSchema(definition.schema);
        for (const field of Object.keys(definition.personal)) {
          expect(fieldsOf(definition.schema)).to.include(field);
          expect(json.properties?.[field]).to.have.property('type', 'string');
        }
      });

      it('names keys in other fields, never in the sealed text', () => {
        const personal = Object.keys(definition.personal);
        const data = Object.fromEntries(
          fieldsOf(definition.schema).map((field) => [
            field,
            personal.includes(field) ? 'SECRET' : REQUESTED,
          ]),
        );
        for (const owner of Object.values(definition.personal)) {
          const id = ownerKeyId('acme', owner, data);
          expect(id).to.include(REQUESTED);
          expect(id).not.to.include('SECRET');
        }
      });

      it('shows auditors no personal field that is named like a credential', () => {
        const named = Object.keys(definition.personal).filter((field) =>
          /secret|password|token|hash/.test(field),
        );
        expect(definition.secret).to.include.members(named);
        expect(Object.keys(definition.personal)).to.include.members([...definition.secret]);
      });

      it('has an upcaster from each older version to the next, and no other', () => {
        const expected = Array.from({ length: definition.version - 1 }, (_, index) => String(index + 1));
        expect(Object.keys(definition.upcasters)).to.deep.equal(expected);
      });
    });
  }
});
