import { expect } from 'chai';
import type { UserPrincipal } from '../../../application/core/commands/principal.ts';
import { Extensions } from '../../../application/extensions/extensions.ts';
import {
  tenantTokenClaims,
  tenantTokenLifetime,
} from '../../../application/identity/authentication-claims.ts';
import { DomainError } from '../../../domain/core/errors.ts';
import { extensionStream, scopesOfToken } from '../../../domain/extensions/extension.ts';
import { tokenFamily } from '../../../infrastructure/identity/tokens.ts';
import { causeOf } from '../../support/book.ts';
import { rejection } from '../../support/eventually.ts';
import { testClock } from '../../support/fakes.ts';
import { startNode } from '../../support/node.ts';

const ada: UserPrincipal = {
  kind: 'user',
  tenantId: 'acme',
  rights: { plan: 'free', entitlements: { ledger: false, assistant: false } },
  userId: 'ada',
  email: 'ada@example.com',
  role: 'admin',
  impersonatedBy: undefined,
  tokenUse: undefined,
};

describe('A minted extension token', () => {
  it('is valid at once after any number of deactivations, or is not minted', async () => {
    const clock = testClock();
    const node = startNode({ clock });
    const tokens = tokenFamily(['k'.repeat(40)], tenantTokenClaims, tenantTokenLifetime, clock);
    const extensions = new Extensions({ streams: node.streams, tokens });
    const context = () => ({
      cause: causeOf(node.ids.next()),
      priorAttempt: undefined,
      newId: () => node.ids.next(),
    });
    await extensions.install(
      'acme',
      { extId: 'crm', name: 'CRM', version: '1', scopes: ['data:read'], url: null, createdBy: 'ada' },
      context(),
    );
    const mint = async () => (await extensions.mintToken(ada, 'crm', context())).token;
    const accepted = async (token: string): Promise<boolean> => {
      const { iat } = tokens.verify(token);
      return (
        scopesOfToken((await node.streams.of(extensionStream, 'acme', 'crm').refresh()).state, {
          scopes: [],
          iat,
        }) !== undefined
      );
    };

    let minted = 0;
    let refused: unknown;
    while (refused === undefined && minted < 200) {
      await extensions.activate('acme', 'crm', context());
      try {
        const token = await mint();
        minted += 1;
        expect(await accepted(token), `round ${minted}`).to.equal(true);
        await extensions.deactivate('acme', 'crm', context());
        expect(await accepted(token)).to.equal(false);
      } catch (error) {
        if (!(error instanceof DomainError)) throw error;
        refused = error;
      }
    }
    expect(minted).to.be.within(10, 60);
    expect(refused).to.include({ code: 'unavailable' });
    const { details } = refused as DomainError;
    expect(details).to.deep.equal({ retry_after: 1 });
    const events = await node.events.readAll({ filter: { types: ['ExtensionTokenMinted'] } });
    expect(events, 'a refusal leaves no event').to.have.length(minted);

    clock.advance(999);
    expect(await rejection(mint())).to.include({ code: 'unavailable' });
    clock.advance(1);
    expect(await accepted(await mint())).to.equal(true);
  });
});
