import { expect } from 'chai';
import {
  impersonationStream,
  impersonationStreamId,
  logRequest,
  startImpersonation,
} from '../../../domain/identity/impersonation.ts';
import { BEGINNING, given } from '../../support/given.ts';

const request = { method: 'GET', route: '/x/:id', operationId: 'getX', status: 200 };

describe('An impersonation', () => {
  it('records user and reason at its start', () => {
    given(impersonationStream)
      .when(() => startImpersonation('ann', 'ticket 7'))
      .gives({ type: 'ImpersonationStarted', data: { user_id: 'ann', reason: 'ticket 7' } });
    given(impersonationStream)
      .when(() => startImpersonation('ann'))
      .gives({ type: 'ImpersonationStarted', data: { user_id: 'ann' } });
  });

  it('logs only parameters that look like ids', () => {
    const kept = { id: '0190-a', name: 'orders_2', when: '2026-01-01' };
    const left = {
      mail: 'ann@example.com',
      long: 'x'.repeat(129),
      text: 'two words',
      empty: '',
      token: 'svc_pat_abcdefgh0123456789',
      jwt: 'eyJhbGciOiJIUzI1NiJ9.e30.x',
      secret: 'whsec_0123456789',
      line: 'a\nb',
    };
    given(impersonationStream)
      .when(() => logRequest({ ...request, params: { ...kept, ...left } }))
      .gives({
        type: 'ImpersonatedRequestMade',
        data: { method: 'GET', route: '/x/:id', operation_id: 'getX', status: 200, params: kept },
      });
  });

  it('keeps no state', () => {
    const [event] = logRequest({ ...request, params: {} });
    if (event === undefined) throw new Error('no event was appended');
    const { state } = given(impersonationStream, ...Array.from({ length: 100 }, () => event));
    expect(state).to.equal(null);
  });

  it('has a stream for each user and day', () => {
    expect(impersonationStreamId('ann', BEGINNING)).to.equal('ann-2026-01-01');
    expect(impersonationStreamId('ann', BEGINNING + 86_399_999)).to.equal('ann-2026-01-01');
    expect(impersonationStreamId('ann', BEGINNING + 86_400_000)).to.equal('ann-2026-01-02');
    expect(impersonationStreamId('bob', BEGINNING)).not.to.equal(impersonationStreamId('ann', BEGINNING));
  });
});
