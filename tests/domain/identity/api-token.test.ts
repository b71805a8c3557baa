import { expect } from 'chai';
import {
  type ApiTokenEvent,
  apiTokenStream,
  assignPrefix,
  LIFETIME_NAMES,
  type MintApiToken,
  mintApiToken,
  revokeApiToken,
  scopesOfUsable,
  tokenParts,
  tokenPrefixStream,
  useApiToken,
} from '../../../domain/identity/api-token.ts';
import { generateTestToken } from '../../../domain/identity/test-token.ts';
import { BEGINNING, given, refusal } from '../../support/given.ts';

const DAY = 86_400_000;
const command: MintApiToken = {
  tokenId: 'one',
  name: 'Reports',
  prefix: 'abcdEFG1',
  secretHash: 'ff',
  scopes: ['data:read', 'files:read', 'data:read'],
  lifetime: '90d',
  createdBy: 'ann',
};
const minted = (expires_at: string | null = null): ApiTokenEvent => ({
  type: 'ApiTokenMinted',
  data: {
    token_id: 'one',
    name: 'Reports',
    prefix: 'abcdEFG1',
    secret_hash: 'ff',
    scopes: ['data:read', 'files:read'],
    expires_at,
    created_by: 'ann',
  },
});
const revoked: ApiTokenEvent = { type: 'ApiTokenRevoked', data: { token_id: 'one' } };
const used: ApiTokenEvent = { type: 'ApiTokenUsed', data: { token_id: 'one' } };

describe('An API token', () => {
  it('is minted once, with distinct scopes', () => {
    const now = BEGINNING;
    given(apiTokenStream)
      .when((state, at) => mintApiToken(state, command, at), now)
      .gives(minted(new Date(now + 90 * DAY).toISOString()));
    given(apiTokenStream, minted())
      .when((state, at) => mintApiToken(state, { ...command, secretHash: '00' }, at))
      .givesNothing();
  });

  it('expires after the chosen lifetime, or never', () => {
    const days = LIFETIME_NAMES.map((lifetime) => {
      const [event] = mintApiToken({ exists: false }, { ...command, lifetime }, { now: BEGINNING });
      if (event?.type !== 'ApiTokenMinted') throw new Error('not minted');
      const { expires_at } = event.data;
      return expires_at === null ? null : (Date.parse(expires_at) - BEGINNING) / DAY;
    });
    expect(days).to.deep.equal([30, 90, 365, null]);
  });

  it('keeps the time of the first revocation', () => {
    given(apiTokenStream, minted()).when(revokeApiToken).gives(revoked);
    given(apiTokenStream, minted()).when(revokeApiToken).thenAgainNothing();
    given(apiTokenStream).when(revokeApiToken).isRefused('not_found');
    const { state } = given(apiTokenStream, minted(), { ...revoked, at: BEGINNING + 5000 });
    expect(state).to.include({ revokedAt: BEGINNING + 5000, name: 'Reports' });
  });

  it('records a use at most once a minute, and never after the revocation', () => {
    given(apiTokenStream, minted()).when(useApiToken).gives(used);
    const story = given(apiTokenStream, minted(), { ...used, at: BEGINNING + 10_000 });
    story.when(useApiToken, BEGINNING + 69_999).givesNothing();
    story.when(useApiToken, BEGINNING + 70_000).gives(used);
    given(apiTokenStream, minted(), revoked).when(useApiToken).givesNothing();
    given(apiTokenStream).when(useApiToken).givesNothing();
  });

  it('is usable until the instant of its expiry or until it is revoked', () => {
    const end = BEGINNING + DAY;
    const { state } = given(apiTokenStream, minted(new Date(end).toISOString()));
    if (!state.exists) throw new Error('not minted');
    expect(scopesOfUsable(state, end - 1)).to.deep.equal(['data:read', 'files:read']);
    expect(refusal(() => scopesOfUsable(state, end)).code).to.equal('credential_expired');
    const gone = { ...state, revokedAt: BEGINNING };
    for (const now of [BEGINNING, end]) {
      expect(refusal(() => scopesOfUsable(gone, now)).code).to.equal('invalid_credential');
    }
    const forever = given(apiTokenStream, minted(null)).state;
    if (!forever.exists) throw new Error('not minted');
    expect(scopesOfUsable(forever, Number.MAX_SAFE_INTEGER)).to.have.length(2);
  });

  it('is parsed only in its exact format', () => {
    const [prefix, tail] = ['abcdEFG1', 'x'.repeat(42)];
    expect(tokenParts(`svc_pat_${prefix}${tail}Y`)).to.deep.equal({ prefix, tail: `${tail}Y` });
    for (const wrong of [
      '',
      'svc_pat_',
      `svc_pat_${prefix}${tail}`,
      `svc_pat_${prefix}${tail}YY`,
      `svc_pat_${prefix}${tail}Y\n`,
      ` svc_pat_${prefix}${tail}Y`,
      `SVC_PAT_${prefix}${tail}Y`,
      `svc_pat_${prefix}${tail}=`,
      `svc_pat_${prefix}${tail}-`,
      `svc_pat_${prefix}${tail}é`,
      `${prefix}${tail}Y`,
    ]) {
      expect(tokenParts(wrong), JSON.stringify(wrong)).to.equal(undefined);
    }
  });
});

describe('A token prefix', () => {
  const assigned = (token_id: string) =>
    ({ type: 'TokenPrefixAssigned', data: { prefix: 'p', tenant_id: 'acme', token_id } }) as const;

  it('lists each of its tokens once', () => {
    const story = given(tokenPrefixStream, assigned('one'), assigned('two'));
    expect(story.state).to.deep.equal([
      { tenantId: 'acme', tokenId: 'one' },
      { tenantId: 'acme', tokenId: 'two' },
    ]);
    story.when((state) => assignPrefix(state, 'p', { tenantId: 'acme', tokenId: 'two' })).givesNothing();
    story
      .when((state) => assignPrefix(state, 'p', { tenantId: 'acme', tokenId: 'three' }))
      .gives(assigned('three'));
    expect(
      story.when((state) => assignPrefix(state, 'p', { tenantId: 'other', tokenId: 'one' })).events(),
    ).to.have.length(1);
  });
});

describe('The log of test tokens', () => {
  it('names tenant and person, and holds no token', () => {
    expect(generateTestToken('acme', 'ann')).to.deep.equal([
      { type: 'ApiTestTokenGenerated', data: { tenant_id: 'acme', user_id: 'ann' } },
    ]);
  });
});
