import { expect } from 'chai';
import { extensionsProjection } from '../../../projections/extensions/extensions.ts';
import { apiTokensProjection } from '../../../projections/identity/api-tokens.ts';
import { folded, type PastEvent } from '../../support/folded.ts';
import { BEGINNING } from '../../support/given.ts';

const time = (seconds: number): string => new Date(BEGINNING + seconds * 1000).toISOString();

describe('API tokens', () => {
  const minted: PastEvent = {
    type: 'ApiTokenMinted',
    data: {
      token_id: 'one',
      name: 'Reports',
      prefix: 'abcdEFG1',
      secret_hash: 'a hash',
      scopes: ['data:read'],
      expires_at: time(100),
      created_by: 'ann',
    },
  };
  const one = {
    id: 'one',
    name: 'Reports',
    prefix: 'abcdEFG1',
    scopes: ['data:read'],
    expires_at: time(100),
    created_by: 'ann',
    created_at: time(1),
    last_used_at: null,
    revoked_at: null,
  };
  const told = (type: string): PastEvent => ({ type, data: { token_id: 'one' } });

  it('are listed without their secrets', () => {
    expect([...folded(apiTokensProjection, [minted]).values()]).to.deep.equal([one]);
  });

  it('show their last use and their revocation', () => {
    const story = [minted, told('ApiTokenUsed'), told('ApiTokenUsed'), told('ApiTokenRevoked')];
    expect([...folded(apiTokensProjection, story).values()]).to.deep.equal([
      { ...one, last_used_at: time(3), revoked_at: time(4) },
    ]);
    expect(folded(apiTokensProjection, [told('ApiTokenUsed'), told('ApiTokenRevoked')]).size).to.equal(0);
  });
});

describe('Extensions', () => {
  const manifest = { ext_id: 'crm', name: 'CRM', version: '1', scopes: ['data:read'], url: null };
  const installed: PastEvent = { type: 'ExtensionInstalled', data: { ...manifest, created_by: 'ann' } };
  const told = (type: string): PastEvent => ({ type, data: { ext_id: 'crm' } });
  const crm = { ...manifest, state: 'inactive', created_by: 'ann', created_at: time(1), updated_at: time(1) };
  const all = (...story: PastEvent[]) => [...folded(extensionsProjection, story).values()];

  it('are listed while they are installed', () => {
    expect(all(installed)).to.deep.equal([crm]);
    expect(all(installed, told('ExtensionUninstalled'))).to.deep.equal([]);
    expect(all(installed, told('ExtensionUninstalled'), installed)).to.deep.equal([
      { ...crm, created_at: time(3), updated_at: time(3) },
    ]);
  });

  it('show whether they are active', () => {
    const active = [installed, told('ExtensionActivated')];
    expect(all(...active)).to.deep.equal([{ ...crm, state: 'active', updated_at: time(2) }]);
    expect(all(...active, told('ExtensionDeactivated'))).to.deep.equal([{ ...crm, updated_at: time(3) }]);
  });
});
