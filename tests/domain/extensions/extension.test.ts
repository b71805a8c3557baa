import { expect } from 'chai';
import fc from 'fast-check';
import {
  activateExtension,
  deactivateExtension,
  EXT_ID,
  type Extension,
  type ExtensionEvent,
  extensionStream,
  installExtension,
  mintExtensionToken,
  scopesOfToken,
  uninstallExtension,
} from '../../../domain/extensions/extension.ts';
import { SCOPES, type Scope } from '../../../domain/identity/scopes.ts';
import { BEGINNING, given } from '../../support/given.ts';

const manifest = {
  extId: 'crm',
  name: 'CRM',
  version: '1.0.0',
  scopes: ['data:read', 'data:write', 'data:read'],
  url: null,
  createdBy: 'ann',
} as const;
const installedWith = (scopes: Scope[]): ExtensionEvent => ({
  type: 'ExtensionInstalled',
  data: { ext_id: 'crm', name: 'CRM', version: '1.0.0', scopes, url: null, created_by: 'ann' },
});
const installed = installedWith(['data:read', 'data:write']);
const activated: ExtensionEvent = { type: 'ExtensionActivated', data: { ext_id: 'crm' } };
const deactivated: ExtensionEvent = { type: 'ExtensionDeactivated', data: { ext_id: 'crm' } };
const uninstalled: ExtensionEvent = { type: 'ExtensionUninstalled', data: { ext_id: 'crm' } };
const SECOND = BEGINNING / 1000;

describe('An extension', () => {
  const install = (state: Extension) => installExtension(state, manifest);

  it('is installed inactive, and not twice', () => {
    given(extensionStream).when(install).gives(installed);
    expect(given(extensionStream, installed).state).to.include({ installed: true, state: 'inactive' });
    given(extensionStream, installed).when(install).isRefused('already_exists', { field: 'ext_id' });
    given(extensionStream, installed, activated).when(install).isRefused('already_exists');
  });

  it('is inactive when it is installed again', () => {
    const story = given(extensionStream, installed, activated, uninstalled);
    story.when(install).gives(installed);
    const again = given(extensionStream, installed, activated, uninstalled, installed);
    expect(again.state).to.include({ installed: true, state: 'inactive' });
  });

  it('is activated and deactivated; repeating it changes nothing', () => {
    given(extensionStream, installed).when(activateExtension).gives(activated);
    given(extensionStream, installed).when(activateExtension).thenAgainNothing();
    given(extensionStream, installed, activated).when(deactivateExtension).gives(deactivated);
    given(extensionStream, installed, activated).when(deactivateExtension).thenAgainNothing();
  });

  it('is not found unless installed', () => {
    for (const history of [[], [installed, uninstalled]]) {
      const story = given(extensionStream, ...history);
      for (const decide of [activateExtension, deactivateExtension, uninstallExtension]) {
        story.when(decide).isRefused('not_found');
      }
      story.when((state, at) => mintExtensionToken(state, 'ann', at)).isRefused('not_found');
    }
  });

  it('mints tokens while it is active', () => {
    const mint = (state: Extension, at: { now: number }) => mintExtensionToken(state, 'ann', at);
    given(extensionStream, installed)
      .when(mint)
      .isRefused('invalid_transition', { state: 'inactive', allowed: ['active'] });
    given(extensionStream, installed, activated)
      .when(mint, BEGINNING + 7900)
      .gives({
        type: 'ExtensionTokenMinted',
        data: { ext_id: 'crm', user_id: 'ann', issued_at: SECOND + 7 },
      });
  });

  it('has ids that fit a path and a stream’s name', () => {
    for (const id of ['crm', 'com.acme.crm', 'crm-2', '0_x', 'a'.repeat(64)]) expect(id).to.match(EXT_ID);
    for (const id of ['', 'CRM', '.crm', '-crm', '_x', 'a/b', 'a b', 'é', 'a\n', 'a'.repeat(65)]) {
      expect(id).not.to.match(EXT_ID);
    }
  });
});

describe('A token of an extension', () => {
  const scopesIn = (state: Extension, scopes: Scope[], iat = SECOND + 100) =>
    scopesOfToken(state, { scopes, iat });

  it('has those of its scopes that the manifest grants', () => {
    const { state } = given(extensionStream, installed, activated);
    expect(scopesIn(state, ['data:read', 'files:read'])).to.deep.equal(['data:read']);
    expect(scopesIn(state, ['admin:*'])).to.deep.equal([]);
    expect(scopesIn(state, [])).to.deep.equal([]);
    const broad = given(extensionStream, installedWith(['admin:*']), activated).state;
    expect(scopesIn(broad, ['data:read', 'admin:*'])).to.deep.equal(['data:read', 'admin:*']);
  });

  it('has only scopes that it names and the manifest grants; `admin:*` in the manifest grants all', () => {
    const some = fc.uniqueArray(fc.constantFrom(...SCOPES));
    fc.assert(
      fc.property(some, some, (held, granted) => {
        const { state } = given(extensionStream, installedWith(granted), activated);
        const scopes = scopesIn(state, held) ?? [];
        expect(scopes.every((scope) => held.includes(scope))).to.equal(true);
        if (granted.includes('admin:*')) expect(scopes).to.deep.equal(held);
        else expect(scopes.every((scope) => granted.includes(scope))).to.equal(true);
      }),
    );
  });

  it('is valid only while the extension is active', () => {
    for (const history of [
      [],
      [installed],
      [installed, activated, deactivated],
      [installed, activated, uninstalled],
      [installed, activated, uninstalled, installed],
    ]) {
      expect(scopesIn(given(extensionStream, ...history).state, ['data:read'])).to.equal(undefined);
    }
  });

  it('stays invalid when the extension is installed again within the same second', () => {
    const at = BEGINNING;
    const minted = (issued_at: number): ExtensionEvent => ({
      type: 'ExtensionTokenMinted',
      data: { ext_id: 'crm', user_id: 'ann', issued_at },
    });
    const first = [
      installed,
      activated,
      minted(SECOND),
      deactivated,
      activated,
      minted(SECOND + 1),
      uninstalled,
    ];
    const history = [...first, installed, activated, deactivated, activated].map((event) => ({
      ...event,
      at,
    }));
    const { state } = given(extensionStream, ...history);
    expect(scopesIn(state, ['data:read'], SECOND + 1)).to.equal(undefined);
    expect(scopesIn(state, ['data:read'], SECOND + 2)).to.deep.equal(['data:read']);
  });

  it('is not minted if it would not be valid yet', () => {
    const history = [installed, activated, { ...deactivated, at: BEGINNING + 40_000 }, activated];
    const mint = (state: Extension, at: { now: number }) => mintExtensionToken(state, 'ann', at);
    const story = given(extensionStream, ...history);
    story.when(mint, BEGINNING + 10_999).isRefused('unavailable', { retry_after: 1 });
    story.when(mint, BEGINNING + 1000).isRefused('unavailable', { retry_after: 10 });
    expect(story.when(mint, BEGINNING + 11_000).events()).to.have.length(1);
  });

  it('is valid until the end of its activation and never again', () => {
    const steps = fc.array(
      fc.record({
        act: fc.constantFrom('install', 'activate', 'activate', 'deactivate', 'uninstall', 'mint', 'mint'),
        // Mostly within one second, the resolution of `iat`.
        wait: fc.integer({ min: 0, max: 200 }),
      }),
      { maxLength: 40 },
    );
    fc.assert(
      fc.property(steps, (story) => {
        let state = extensionStream.initial;
        let now = BEGINNING;
        let alive: number[] = [];
        // Begins installed, since most random histories would otherwise have no effect.
        state = extensionStream.evolve(state, installed, { at: now, revision: 0 });
        let dead: number[] = [];
        const check = (): void => {
          const counts = (iat: number) => scopesIn(state, ['data:read'], iat) !== undefined;
          expect(alive.every(counts)).to.equal(true);
          expect(dead.some(counts)).to.equal(false);
        };
        story.forEach(({ act, wait }, revision) => {
          now += wait;
          let events: readonly ExtensionEvent[] = [];
          try {
            if (act === 'install') events = installExtension(state, manifest);
            if (act === 'activate') events = activateExtension(state);
            if (act === 'deactivate') events = deactivateExtension(state);
            if (act === 'uninstall') events = uninstallExtension(state);
            if (act === 'mint') events = mintExtensionToken(state, 'ann', { now });
          } catch {
            return;
          }
          for (const event of events) {
            state = extensionStream.evolve(state, event, { at: now, revision });
            if (event.type === 'ExtensionTokenMinted') alive.push(event.data.issued_at);
            if (event.type === 'ExtensionDeactivated' || event.type === 'ExtensionUninstalled') {
              dead = [...dead, ...alive];
              alive = [];
            }
          }
          check();
        });
      }),
      { numRuns: 1000 },
    );
  });
});
