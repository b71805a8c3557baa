import { expect } from 'chai';
import fc from 'fast-check';
import { SignCodes } from '../../../application/assistant/sign-codes.ts';

const DIMENSIONS = 512;
const value = fc.float({ min: -1, max: 1, noNaN: true });
const vector = fc
  .array(value, { minLength: DIMENSIONS, maxLength: DIMENSIONS })
  .filter((values) => values.some((one) => one !== 0))
  .map((values) => Float32Array.from(values));

describe('an estimated cosine', () => {
  it('is the cosine of π times the share of differing signs, for any row', () => {
    fc.assert(
      fc.property(fc.array(vector, { minLength: 1, maxLength: 70 }), vector, (rows, question) => {
        const codes = new SignCodes(DIMENSIONS);
        for (const row of rows) codes.add(row);
        const estimate = codes.estimator(question);
        expect(codes.rows).to.equal(rows.length);
        for (const [nth, row] of rows.entries()) {
          const differing = row.filter((one, at) => one > 0 !== (question[at] ?? 0) > 0).length;
          expect(estimate(nth)).to.be.closeTo(Math.cos((Math.PI * differing) / DIMENSIONS), 1e-6);
        }
      }),
      { numRuns: 20 },
    );
  });

  it('is 1 for the vector itself and -1 for its opposite', () => {
    fc.assert(
      fc.property(vector, (one) => {
        const question = one.map((number) => (number === 0 ? 0.5 : number));
        const codes = new SignCodes(DIMENSIONS);
        for (const row of [question, question.map((number) => -number)]) codes.add(row);
        const estimate = codes.estimator(question);
        expect([estimate(0), estimate(1)]).to.deep.equal([1, -1]);
      }),
      { numRuns: 20 },
    );
  });
});
