import { expect } from 'chai';
import { PublicLinks } from '../../../application/workflow/public-links.ts';
import { DomainError } from '../../../domain/core/errors.ts';
import { type RecordEvent, recordStream } from '../../../domain/entities/record.ts';
import { type TenantEvent, tenantStream } from '../../../domain/tenancy/tenant.ts';
import type { LinkTarget } from '../../../domain/workflow/link.ts';
import { INVOICES } from '../../domain/workflow/samples.ts';
import { causeOf } from '../../support/book.ts';
import { testClock } from '../../support/fakes.ts';
import { BEGINNING } from '../../support/given.ts';
import { request, startJobs, TENANT } from './support.ts';

const DAY = 86_400_000;
const LINK = { pageSlug: 'status', expiresIn: '1d' } as const;

describe('public links', () => {
  const start = async () => {
    const clock = testClock();
    const node = startJobs({ clock });
    const { commands, streams, directory, jobs, events } = node;
    let lookups = 0;
    /** Finds every link ever created, like a read model that is behind. */
    const lookUp = async (tokenHash: string): Promise<LinkTarget | undefined> => {
      lookups += 1;
      for (const stored of await events.readAll({})) {
        const { type, data, tenantId } = node.codec.decode(stored);
        // The type determines the data.
        const link = data as { token_hash: string; link_id: string; job_id: string; expires_at: string };
        if (type === 'PublicLinkCreated' && link.token_hash === tokenHash) {
          const { link_id, job_id, expires_at } = link;
          return { tenant_id: tenantId, link_id, job_id, entity_id: job_id, page_slug: 'status', expires_at };
        }
      }
      return undefined;
    };
    const links = new PublicLinks({ streams, directory, jobs, clock, lookUp });
    // The caches of `other` do not see the writes of `node`.
    const other = startJobs({ clock, events, keyStore: node.keyStore, snapshots: node.snapshots });
    const elsewhere = new PublicLinks({ ...other, clock, lookUp });
    const append = (id: string, ...appended: TenantEvent[]) =>
      commands.execute({
        tenantId: 'platform',
        type: tenantStream,
        id,
        cause: causeOf('platform'),
        decide: () => appended,
      });
    await append(TENANT, {
      type: 'TenantCreated',
      data: {
        tenant_id: TENANT,
        name: 'Acme',
        plan: 'pro',
        partner_id: null,
        entitlements: { ledger: false, assistant: false },
        currency: 'EUR',
        timezone: 'UTC',
      },
    });
    const suspend = (status: 'active' | 'suspended') =>
      append(TENANT, { type: 'TenantStatusChanged', data: { tenant_id: TENANT, status } });
    await node.defineInvoice();
    await node.publish('invoices', INVOICES);
    await node.startJob('one', 'invoices');
    return { ...node, clock, links, elsewhere, lookedUp: () => lookups, suspend };
  };

  const refusal = (attempt: Promise<unknown>) =>
    attempt.then(
      () => 'it is good',
      (error: unknown) => {
        if (!(error instanceof DomainError)) throw error;
        return JSON.stringify([error.code, error.message, error.details]);
      },
    );

  it('lead to their job until they expire, to the millisecond', async () => {
    const { links, clock } = await start();
    const made = await links.create(TENANT, 'one', LINK, request());
    if (made.token === undefined) throw new Error('a new link has a token');
    expect(made.token).to.match(/^[A-Za-z0-9_-]{43}$/);
    expect(made.expiresAt).to.equal(new Date(BEGINNING + DAY).toISOString());
    clock.set(BEGINNING + DAY - 1);
    expect(await links.validate(made.token)).to.deep.include({
      tenant_id: TENANT,
      job_id: 'one',
      entity_id: 'one',
      page_slug: 'status',
    });
    clock.set(BEGINNING + DAY);
    expect(await refusal(links.validate(made.token))).to.contain('not_found');
  });

  it('get the same refusal when unknown, expired, revoked, of a deleted record or of a suspended tenant', async () => {
    const { links, clock, suspend, commands } = await start();
    const make = async () => {
      const made = await links.create(TENANT, 'one', LINK, request());
      return { id: made.id, token: made.token ?? '' };
    };
    const [old, revoked, good] = [await make(), await make(), await make()];
    await links.revoke(TENANT, 'one', revoked.id, request());
    const answers = [
      await refusal(links.validate('never made')),
      await refusal(links.validate('')),
      await refusal(links.validate(revoked.token)),
    ];
    expect(await refusal(links.validate(good.token))).to.equal('it is good');
    await suspend('suspended');
    answers.push(await refusal(links.validate(good.token)));
    await suspend('active');
    expect(await refusal(links.validate(good.token))).to.equal('it is good');
    const deleting: RecordEvent = {
      type: 'RecordDeletionStarted',
      data: { record_id: 'one', entity_name: 'invoice', deletion_id: 'd' },
    };
    await commands.execute({
      tenantId: TENANT,
      type: recordStream,
      id: 'one',
      cause: causeOf('deletion'),
      decide: () => [deleting],
    });
    answers.push(await refusal(links.validate(good.token)));
    clock.advance(DAY);
    answers.push(await refusal(links.validate(old.token)));
    expect(new Set(answers).size).to.equal(1);
    expect(answers[0]).to.contain('not_found');
  });

  it('follow another node’s creations and revocations despite cached states', async () => {
    const { links, elsewhere } = await start();
    const make = async () => {
      const { id, token = '' } = await links.create(TENANT, 'one', LINK, request());
      return { id, token };
    };
    const first = await make();
    expect(await refusal(elsewhere.validate(first.token))).to.equal('it is good');
    const second = await make();
    expect(await refusal(elsewhere.validate(second.token))).to.equal('it is good');
    await links.revoke(TENANT, 'one', first.id, request());
    expect(await refusal(elsewhere.validate(first.token))).to.contain('not_found');
  });

  it('are looked up only for text in the form of a token', async () => {
    const { links, lookedUp } = await start();
    for (const token of ['', 'x', 'a'.repeat(42), 'a'.repeat(44), `${'a'.repeat(42)}=`]) {
      expect(await refusal(links.validate(token))).to.contain('not_found');
    }
    expect(lookedUp()).to.equal(0);
    expect(await refusal(links.validate('a'.repeat(43)))).to.contain('not_found');
    expect(lookedUp()).to.equal(1);
  });

  it('store only the hash of the token', async () => {
    const { links, events } = await start();
    const { token = '' } = await links.create(TENANT, 'one', LINK, request());
    const log = JSON.stringify(await events.readAll({}));
    expect(token).not.to.equal('');
    expect(log).not.to.contain(token);
    expect(log).to.contain('token_hash');
  });

  it('are created once for a request retried after a crash; the retry returns no token', async () => {
    const { links } = await start();
    const keyed = { ...request(), priorAttempt: { since: 0 }, newId: () => 'the-link' };
    const first = await links.create(TENANT, 'one', LINK, keyed);
    const again = await links.create(TENANT, 'one', LINK, keyed);
    expect(first.token).to.be.a('string');
    expect(again).to.deep.equal({ ...first, token: undefined });
  });

  it('are not created without a job', async () => {
    const { links } = await start();
    expect(await refusal(links.create(TENANT, 'nobody', LINK, request()))).to.contain('not_found');
    expect(await refusal(links.create('other', 'one', LINK, request()))).to.contain('not_found');
  });
});
