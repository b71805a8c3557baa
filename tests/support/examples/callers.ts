import { signed } from '../../simulation/client.ts';
import { STARTED_AT, secretOf } from '../../simulation/world.ts';
import type { Known } from './walk.ts';

/** Callers in the walk: `eve` is an admin of a tenant without the ledger. */
export type Caller = 'platform' | 'partner' | 'ada' | 'ben' | 'cleo' | 'eve';

const HOUR = 3_600;
const ASSERTION_SECONDS = 300;

const nora = { sub: 'nora', email: 'nora@north.example', partner_id: 'north' };
const permissions = ['partner-billing'];

export const tokenOf = (as: Caller, known: Known): string => {
  const iat = STARTED_AT / 1_000 - 1;
  const exp = iat + HOUR;
  const ofPerson = (sub: string, role: string, tenant: string): string =>
    signed({ sub, email: `${sub}@${tenant}.example`, tenant_id: tenant, role, iat, exp }, secretOf('tenant'));
  switch (as) {
    case 'platform': {
      const root = { sub: 'root', email: 'root@platform.example', role: 'super_admin' };
      return signed({ ...root, iat, exp }, secretOf('platform'));
    }
    case 'partner':
      return signed({ ...nora, permissions, iat, exp }, secretOf('partner'));
    case 'ada':
      return ofPerson('ada', 'admin', 'workshop');
    case 'ben':
      return ofPerson('ben', 'operator', 'workshop');
    case 'eve':
      return ofPerson('eve', 'admin', 'bakery');
    case 'cleo':
      return known('login', 'token');
    default:
      return as satisfies never;
  }
};

/**
 * The assertion of the portal that hosts the partner's pages, for one sign-in.
 * @param now virtual time (ms)
 */
export const assertionOf = (now: number): string => {
  const iat = Math.floor((STARTED_AT + now) / 1_000);
  const claims = { ...nora, permissions, jti: 'sign-in-1', iat, exp: iat + ASSERTION_SECONDS };
  return signed(claims, secretOf('exchange'));
};
