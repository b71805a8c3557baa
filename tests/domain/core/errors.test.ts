import { expect } from 'chai';
import { DomainError, ERROR_CODES, invalid, notFound } from '../../../domain/core/errors.ts';

describe('error codes', () => {
  it('are distinct and spelt as machines read them', () => {
    expect(new Set(ERROR_CODES).size).to.equal(ERROR_CODES.length);
    for (const code of ERROR_CODES) expect(code).to.match(/^[a-z]+(_[a-z]+)*$/);
  });

  it('hold every code that the specification names', () => {
    const named = [
      'validation_failed',
      'not_found',
      'guard_rejected',
      'rate_limited',
      'assistant_not_entitled',
      'delegated_credential_refused',
      'unbalanced',
      'immutable',
      'not_entitled',
      'invoice_locked',
    ];
    expect(ERROR_CODES).to.include.members(named);
  });

  it('name the first field of what is not valid', () => {
    const issues = [
      { path: 'lines.0.debit', code: 'too_small', message: 'Too small.' },
      { path: 'memo', code: 'too_big', message: 'Too big.' },
    ];
    const error = invalid(issues);
    expect(error.code).to.equal('validation_failed');
    expect(error.message).to.equal('Too small.');
    expect(error.details).to.deep.equal({ field: 'lines.0.debit', issues });
    expect(invalid([]).details).to.deep.equal({ field: '', issues: [] });
  });

  it('tell nothing of what was not found', () => {
    const error = notFound();
    expect(error).to.be.instanceOf(DomainError);
    expect([error.code, error.details, error.message]).to.deep.equal([
      'not_found',
      undefined,
      notFound().message,
    ]);
  });
});
