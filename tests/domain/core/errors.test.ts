import { expect } from 'chai';
import { DomainError, ERROR_CODES, invalid, notFound } from '../../../domain/core/errors.ts';

describe('Error codes', () => {
  it('are distinct and in snake case', () => {
    expect(new Set(ERROR_CODES).size).to.equal(ERROR_CODES.length);
    for (const code of ERROR_CODES) expect(code).to.match(/^[a-z]+(_[a-z]+)*$/);
  });

  it('include every code of the specification', () => {
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

  it('name the first invalid field', () => {
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

  it('reveal nothing about a resource that was not found', () => {
    const error = notFound();
    expect(error).to.be.instanceOf(DomainError);
    expect([error.code, error.details, error.message]).to.deep.equal([
      'not_found',
      undefined,
      notFound().message,
    ]);
  });
});
