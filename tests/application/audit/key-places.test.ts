import { expect } from 'chai';
import fc from 'fast-check';
import { slotOf } from '../../../application/key-pages.ts';
import { KeyPlaces, NO_PAGE } from '../../../application/ports/lines/key-places.ts';
import { sealedKeyId } from '../../../application/sealing.ts';

describe('The place of a key, read from the bytes of a sealed text', () => {
  const uuid = fc.uuid();
  const tenant = fc.constantFrom('acme', 'other', 'a', 'ünïcode', 'x/message-y', 'a:b');
  const id = fc
    .tuple(tenant, uuid, fc.constantFrom('0', '5', '12', '127', '128', '999', '1000', '', '-1', '007', 'x'))
    .map(([of, page, slot]) => `${of}/message-${page}.${slot}`);
  const put = fc.constantFrom('', 'g', 'F', '`', ':', '/', '.', '\0', 'é', '5', '-');
  /** A sealed text, or one that is nearly one. */
  const text = fc
    .tuple(
      fc.oneof(id, fc.constantFrom('acme/message-m1', 'acme/person-x', 'acme/person-a|b:c.5', '')),
      fc.constantFrom('v1:', 'v1:', 'v1:', 'v2:', '', 'v1'),
      fc.constantFrom(':', ':', ':', '', '::'),
      fc.oneof(fc.base64String(), fc.constant(''), fc.string()),
      fc.option(fc.tuple(fc.nat(80), fc.nat(1), put)),
    )
    .map(([keyId, version, colon, rest, change]) => {
      const all = version + keyId + colon + rest;
      if (change === null) return all.toWellFormed();
      const [at, cut, instead] = change;
      return (all.slice(0, at) + instead + all.slice(at + cut)).toWellFormed();
    });

  it('is the one that its key id tells, whatever stands before, after and around it', () => {
    let told = 0;
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 8 }), fc.string(), (texts, around) => {
        const places = new KeyPlaces();
        places.begin();
        // Those of the same page after each other, too.
        for (const one of [...texts, ...texts]) {
          const before = Buffer.from(`${around}"`);
          const bytes = Buffer.concat([before, Buffer.from(one), Buffer.from(`"${around}:`)]);
          places.find(bytes, before.length, before.length + Buffer.byteLength(one));
          // What has a colon within its key id, or after it, is looked at as a whole elsewhere.
          const isPlain = /^v1:[^:]*:[^:]*$/.test(one);
          const keyId = sealedKeyId(one);
          const slot = isPlain ? slotOf(keyId) : undefined;
          expect(places.page === NO_PAGE, one).to.equal(slot === undefined);
          if (slot === undefined) continue;
          told += 1;
          expect(places.slot).to.equal(slot.slot);
          const page = keyId.slice(0, keyId.lastIndexOf('.'));
          expect(places.pages[places.page]).to.equal(page);
        }
        expect(new Set(places.pages).size).to.equal(places.pages.length);
      }),
      { numRuns: 2000 },
    );
    expect(told).to.be.greaterThan(100);
  });
});
