import { expect } from 'chai';
import { requestLog } from '../../../api/http/request-log.ts';

const request = { request_id: 'r', method: 'GET', route: '/x', status: 200, ms: 1 };

describe('The log of requests', () => {
  const logAt = (perSecond: number) => {
    const lines: object[] = [];
    const clock = { ms: 0 };
    const log = requestLog({ info: (fields) => void lines.push(fields) }, perSecond, () => clock.ms);
    return { lines, clock, log: () => log(request, undefined) };
  };

  it('has at most the given number of lines per second, and counts the skipped ones', () => {
    const { lines, clock, log } = logAt(2);
    for (let nth = 0; nth < 5; nth += 1) log();
    expect(lines).to.have.length(2);
    clock.ms = 1000;
    log();
    log();
    expect(lines[2]).to.include({ skipped: 3 });
    expect(lines[3]).not.to.have.property('skipped');
  });

  it('is off when its limit is 0', () => {
    const { lines, log } = logAt(0);
    log();
    expect(lines).to.deep.equal([]);
  });

  it('names the kind of caller and the tenant, and no other part of the credential', () => {
    const lines: object[] = [];
    const log = requestLog({ info: (fields) => void lines.push(fields) }, 10);
    log(request, { kind: 'platform_admin', adminId: 'a', email: 'root@platform.example' });
    const rights = { plan: 'free', entitlements: { ledger: false, assistant: false } } as const;
    log(request, { kind: 'api_token', tenantId: 'acme', rights, tokenId: 't', scopes: [] });
    expect(lines).to.deep.equal([
      { ...request, caller: 'platform_admin' },
      { ...request, caller: 'api_token', tenant: 'acme' },
    ]);
  });
});
