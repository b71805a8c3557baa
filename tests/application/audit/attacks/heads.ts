import { expect } from 'chai';
import { newSigner, proofOf } from '../../../support/audit-log.ts';
import { type AttackedLog, expectFault } from './log.ts';

const positionIn = (line: string): string => line.slice('{"position":"'.length, '{"position":"'.length + 16);

/** Attacks with old, foreign or forged heads. */
export const headAttacks = (at: AttackedLog): void => {
  const { EVENTS, against, bytesOf, checked, indexAfter, verdictOf, written } = at;

  describe('with other heads', () => {
    it('is not proven by an old head when a newer head, a time or the events contradict it', async () => {
      const after = indexAfter(0, (line) => positionIn(line) > at.earlier.head.position);
      const cut = [bytesOf(0, after)];
      const old = await against(at.earlier.withHeads);
      expect((await verdictOf(cut, ...old)).verified, 'nothing tells that this is not all').to.equal(true);
      const outside = await written(
        'heads',
        `${JSON.stringify(at.earlier.head)}\n${JSON.stringify(at.proof.head)}\n`,
      );
      expectFault(await verdictOf(cut, ...old, '--heads', outside), { kind: 'old_head' });
      const later = new Date(Date.parse(at.proof.head.signed_at) + 1).toISOString();
      expectFault(await verdictOf(cut, ...old, '--not-before', later), { kind: 'old_head' });
      const strict = await verdictOf(at.whole, ...old, '--strict');
      expectFault(strict, { kind: 'old_head', line: EVENTS / 2 + 1 });
    });

    it('is checked against every delivered head, which bounds the place of the fault', async () => {
      const outside = await written(
        'heads',
        `${JSON.stringify(at.earlier.head)}\n${JSON.stringify(at.proof.head)}\n{"cut`,
      );
      const args = ['--heads', outside, '--public-key', at.signer.publicKey];
      expect((await verdictOf(at.whole, ...args)).head?.position).to.equal(at.proof.head.position);
      const cut = [bytesOf(0, EVENTS - 1)];
      const { fault } = await verdictOf(cut, ...args);
      expect(fault?.kind).to.equal('root_mismatch');
      expect(fault?.message).to.include(at.earlier.head.position);
    });

    it('is not proven by another tenant’s signed head or a modified copy of it', async () => {
      const verdict = await checked(at.whole, JSON.stringify(at.foreign.head));
      expectFault(verdict, { kind: 'foreign_event', line: 1 });
      const outside = await written('heads', `${JSON.stringify(at.foreign.head)}\n`);
      expectFault(await verdictOf(at.whole, ...(await against(at.proof.withHeads)), '--heads', outside), {
        kind: 'foreign_head',
      });
      const renamed = JSON.stringify({ ...at.foreign.head, tenant_id: 'acme' });
      expectFault(await checked(at.whole, renamed), { kind: 'bad_signature' });
    });

    it('is not proven by a head that was changed or signed with another key', async () => {
      for (const change of [
        { position: at.earlier.head.position },
        { root: at.earlier.head.root },
        { signed_at: '2030-01-01T00:00:00.000Z' },
        { signature: at.earlier.head.signature },
        { signature: '' },
        { algorithm: 'none' },
      ]) {
        expectFault(await checked(at.whole, JSON.stringify({ ...at.proof.head, ...change })), {
          kind: 'bad_signature',
        });
      }
      const stranger = await proofOf({ folder: at.folder }, 'acme', newSigner());
      expectFault(await checked(at.whole, JSON.stringify(stranger.head)), { kind: 'bad_signature' });
      const list = at.proof.withHeads.split('\n');
      list.splice(5, 1);
      expectFault(await checked(at.whole, list.join('\n')), { kind: 'bad_signature' });
    });
  });
};
