import { expect } from 'chai';
import {
  createLink,
  isLive,
  type LinkEvent,
  linkStream,
  MAX_LIVE,
  revokeLink,
} from '../../../domain/workflow/link.ts';
import { BEGINNING, given } from '../../support/given.ts';

const DAY = 86_400_000;
const command = {
  linkId: 'l1',
  jobId: 'j',
  pageSlug: 'status',
  tokenHash: 'hash of l1',
  expiresIn: '7d',
} as const;
const created = (id: string, expiresAt: number, at?: number): LinkEvent & { at?: number } => ({
  type: 'PublicLinkCreated',
  data: {
    link_id: id,
    job_id: 'j',
    entity_id: 'j',
    page_slug: 'status',
    token_hash: `hash of ${id}`,
    expires_at: new Date(expiresAt).toISOString(),
  },
  ...(at === undefined ? {} : { at }),
});
const revoked = (id: string): LinkEvent => ({
  type: 'PublicLinkRevoked',
  data: { link_id: id, job_id: 'j', token_hash: `hash of ${id}` },
});
const links = (...events: (LinkEvent & { at?: number })[]) => given(linkStream, ...events);

describe('A public link', () => {
  it('is created for its lifetime', () => {
    for (const [expiresIn, days] of [
      ['1d', 1],
      ['7d', 7],
      ['30d', 30],
      ['90d', 90],
    ] as const) {
      links()
        .when((state, at) => createLink(state, { ...command, expiresIn }, at), BEGINNING)
        .gives(created('l1', BEGINNING + days * DAY));
    }
  });

  it('is live until its expiry or its revocation', () => {
    const [link] = links(created('l1', BEGINNING + DAY)).state.links;
    if (link === undefined) throw new Error('it is there');
    expect(isLive(link, BEGINNING + DAY - 1)).to.equal(true);
    expect(isLive(link, BEGINNING + DAY)).to.equal(false);
    expect(isLive({ ...link, revoked: true }, BEGINNING)).to.equal(false);
  });

  it('is revoked once, and only if it exists', () => {
    const revoking = (linkId: string) => (state: typeof linkStream.initial) =>
      revokeLink(state, { linkId, jobId: 'j' });
    links(created('l1', BEGINNING + DAY))
      .when(revoking('l1'))
      .gives(revoked('l1'));
    links(created('l1', BEGINNING + DAY), revoked('l1'))
      .when(revoking('l1'))
      .givesNothing();
    links(created('l1', BEGINNING + DAY))
      .when(revoking('l2'))
      .isRefused('not_found');
  });

  it('is refused above the limit of live links; ended links do not count and are dropped', () => {
    const many = (count: number, expiresAt: number, prefix: string) =>
      Array.from({ length: count }, (_, i) => created(`${prefix}${i}`, expiresAt, BEGINNING));
    const creating = links(...many(MAX_LIVE, BEGINNING + DAY, 'live'));
    creating.when((state, at) => createLink(state, command, at), BEGINNING).isRefused('constraint_violated');
    expect(
      creating.when((state, at) => createLink(state, command, at), BEGINNING + DAY).events(),
    ).to.have.length(1);
    const { state } = links(
      ...many(MAX_LIVE, BEGINNING + 2 * DAY, 'live'),
      ...many(5000, BEGINNING - 1, 'ended'),
    );
    expect(state.links.length).to.be.at.most(2000);
    expect(state.links.filter((link) => isLive(link, BEGINNING))).to.have.length(MAX_LIVE);
    expect(state.links.at(-1)?.id).to.equal('ended4999');
  });
});
