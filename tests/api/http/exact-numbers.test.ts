import { expect } from 'chai';
import { requireExactNumbers } from '../../../api/http/exact-numbers.ts';
import { DomainError } from '../../../domain/core/errors.ts';

const refusedAt = (text: string): unknown => {
  try {
    requireExactNumbers(text);
    return undefined;
  } catch (error) {
    if (error instanceof DomainError) return error.details?.field;
    throw error;
  }
};

describe('Numbers of a JSON body', () => {
  it('are refused when a loss of digits would turn them into integers', () => {
    const lost = [
      '9007199254740990.6',
      '0.99999999999999999999',
      '1.0000000000000000001',
      '-4.00000000000000000001',
      '1e-400',
      '0.1e-400',
      '100000000000000000001e-18',
      `1.${'0'.repeat(100_000)}1`,
    ];
    for (const each of lost) expect(refusedAt(`{"n":${each}}`), each.slice(0, 40)).to.equal('n');
    expect(refusedAt('{"lines":[{"debit":0.99999999999999999999}]}')).to.equal('debit');
  });

  it('are accepted when no loss of digits turns them into integers', () => {
    const kept = [
      '0',
      '1e2',
      '100.0',
      '100.00000000000000000000',
      '0.00000000000000000000000',
      '0e-999999999999',
      '1500000000000000000000e-20',
      '9007199254740991',
      '9007199254740993',
      '0.1000000000000000055511151231257827',
      '1e21',
      '123456789012345678e-17',
      '"0.99999999999999999999"',
    ];
    for (const each of kept) expect(refusedAt(`{"n":${each}}`), each).to.equal(undefined);
  });
});
