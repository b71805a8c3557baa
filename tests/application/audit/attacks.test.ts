import { expect } from 'chai';
import { verdictOfNode, verify } from '../../support/verifiers.ts';
import { databaseAttacks, moreDatabaseAttacks } from './attacks/database.ts';
import { headAttacks } from './attacks/heads.ts';
import { lineAttacks } from './attacks/lines.ts';
import { attackedLog } from './attacks/log.ts';

/**
 * The smaller log gets all attacks, checked by both verifiers; streams of each kind lie before and after its earlier
 * head. The large log gets the attacks that its size could hide, checked by one verifier.
 */
const SIZES = [
  { EVENTS: 1_500, length: 100, both: true },
  { EVENTS: 12_000, length: 200, both: false },
];

/** Attacks on exports of mixed streams (docs/guarantees.md, "Audit"). */
for (const size of SIZES)
  describe(`An export of ${size.EVENTS.toLocaleString('en')} events`, function () {
    this.timeout(300_000);
    const at = attackedLog(size);
    const { EVENTS, both, against, checked, exported, verdictOf, written } = at;

    describe('that is unchanged', () => {
      it('is verified without and with its head and the list of streams', async () => {
        const withHeads = await against(at.proof.withHeads);
        for (const args of both
          ? [[], withHeads, await against(JSON.stringify(at.proof.head))]
          : [withHeads]) {
          const options = args.length === 0 ? [] : [...args, '--strict'];
          const verdict = await verdictOf(at.whole, ...options);
          expect(await verdictOfNode('--export', at.wholePath, ...options), 'as a command').to.deep.equal(
            verdict,
          );
          expect(verdict).to.deep.include({
            verified: true,
            events: EVENTS,
            tenant_id: 'acme',
          });
          expect(verdict.not_covered).to.equal(args.length === 0 ? EVENTS : 0);
          expect(verdict.head?.position).to.equal(args.length === 0 ? undefined : at.proof.head.position);
        }
      });
    });

    databaseAttacks(at);
    if (!both) return;
    moreDatabaseAttacks(at);
    headAttacks(at);
    lineAttacks(at);

    it('is verified against a head signed before its last events, which are counted', async () => {
      expect(await checked(at.whole, at.earlier.withHeads)).to.deep.include({
        verified: true,
        not_covered: EVENTS / 2,
        head: { position: at.earlier.head.position, signed_at: at.earlier.head.signed_at },
      });
    });

    it('has the same bytes each time', async () => {
      expect(Buffer.concat(await exported(at.folder)).equals(at.whole[0] as Buffer)).to.equal(true);
    });

    it('is refused when the check would prove nothing', async () => {
      const key = ['--public-key', at.signer.publicKey];
      for (const args of [
        [],
        ['--export', 'nowhere.ndjson'],
        ['--export', at.wholePath, '--proof', await written('proof', JSON.stringify(at.proof.head))],
        ['--export', at.wholePath, '--proof', 'nowhere.json', ...key],
        ['--export', at.wholePath, '--proof', at.wholePath, '--public-key', 'no key'],
        ['--export', at.wholePath, ...key, '--proof', at.wholePath, '--not-before', 'yesterday'],
        ['--export', at.wholePath, '--unknown'],
      ]) {
        const { code, stdout, stderr } = await verify(...args);
        expect([code, stdout]).to.deep.equal([2, '']);
        expect(stderr.trim().split('\n')).to.have.length(1);
      }
    });
  });
