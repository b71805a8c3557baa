import { expect } from 'chai';
import { QuestionLimiter } from '../../../application/assistant/question-limiter.ts';
import { DomainError } from '../../../domain/core/errors.ts';
import { rejection } from '../../support/eventually.ts';

const code = async (work: Promise<unknown>): Promise<string> => {
  const error = await rejection(work);
  return error instanceof DomainError ? error.code : String(error);
};

describe('concurrent questions', () => {
  it('are limited per tenant and in total, and a finished question frees its slot', async () => {
    const limiter = new QuestionLimiter({ perTenant: 2, together: 3 });
    const gates = [1, 2, 3].map(() => Promise.withResolvers<string>());
    const [one, two, three] = gates.map(({ promise }, n) =>
      limiter.admit(n < 2 ? 'acme' : 'other', () => promise),
    );
    expect(await code(limiter.admit('acme', async () => 'in'))).to.equal('rate_limited');
    expect(await code(limiter.admit('third', async () => 'in'))).to.equal('unavailable');
    gates[0]?.resolve('done');
    expect(await one).to.equal('done');
    expect(await limiter.admit('acme', async () => 'in')).to.equal('in');
    gates[1]?.reject(new Error('broken'));
    expect(await rejection(two ?? Promise.resolve())).to.be.instanceOf(Error);
    gates[2]?.resolve('done');
    await three;
    const all = [1, 2].map((n) => limiter.admit('acme', async () => n));
    expect(await Promise.all(all), 'a failure makes room too').to.deep.equal([1, 2]);
  });
});
