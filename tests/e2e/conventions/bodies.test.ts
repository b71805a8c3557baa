import { expect } from 'chai';
import type { Answer } from '../../support/client.ts';
import { liveMessage, validationFailed } from '../../support/shapes.ts';
import { adaAndBen, forSuite } from '../../support/suite.ts';
import { BASE } from '../../support/world.ts';

/** Decisions, sections 1 and 2. */
describe('Request bodies', () => {
  const here = forSuite(adaAndBen);

  const codeOf = (answer: Answer): [number, string | undefined] => [answer.status, answer.error];
  const messagesPath = (): string => `${BASE}/${here().id}/messages`;

  it('get 413 above 1 MiB, and are accepted with exactly 1 MiB', async () => {
    const { ada } = here();
    for (const size of [1024 * 1024 + 1, 2 * 1024 * 1024]) {
      const answer = await ada.api.post(messagesPath(), undefined, { raw: 'x'.repeat(size) });
      expect(codeOf(answer)).to.deep.equal([413, 'payload_too_large']);
    }
    const rest = JSON.stringify({ body: 'fits', more: '' }).length;
    const raw = JSON.stringify({ body: 'fits', more: 'x'.repeat(1024 * 1024 - rest) });
    (await ada.api.post(messagesPath(), undefined, { raw })).as(liveMessage, 201);
  });

  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/xml',
    'multipart/form-data; boundary=x',
    'application/json; charset=latin1',
    'application/jsonx',
  ]) {
    it(`get 415 for ${type}`, async () => {
      const { ada } = here();
      const answer = await ada.api.post(messagesPath(), undefined, {
        raw: '{"body":"x"}',
        headers: { 'content-type': type },
      });
      expect(codeOf(answer)).to.deep.equal([415, 'unsupported_media_type']);
    });
  }

  for (const raw of [
    '{',
    '{"body":"x"',
    "{'body':'x'}",
    'x',
    '{"body":"x"}}',
    '{"body":"\n"}',
    '{"body":NaN}',
  ]) {
    it(`get 400 malformed_json for ${JSON.stringify(raw)}`, async () => {
      const { ada } = here();
      expect(codeOf(await ada.api.post(messagesPath(), undefined, { raw }))).to.deep.equal([
        400,
        'malformed_json',
      ]);
    });
  }

  it('get 400 for broken UTF-8 and for JSON other than an object', async () => {
    const { ada } = here();
    const broken = new Uint8Array(
      Buffer.concat([Buffer.from('{"body":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')]),
    );
    expect(codeOf(await ada.api.post(messagesPath(), undefined, { raw: broken }))).to.deep.equal([
      400,
      'malformed_json',
    ]);
    for (const raw of ['null', '[]', '"x"', '7', 'true']) {
      (await ada.api.post(messagesPath(), undefined, { raw })).as(validationFailed, 400);
    }
  });
});
