import { expect } from 'chai';
import { liveMessage, messages, validationFailed } from '../../support/shapes.ts';
import { adaAndBen, forSuite } from '../../support/suite.ts';
import { BASE, type Member, say } from '../../support/world.ts';

describe('Bodies of messages', () => {
  const here = forSuite(adaAndBen);

  const path = (mid: string): string => `${BASE}/${here().id}/messages/${mid}`;
  const list = async (who: Member, query = '') =>
    (await who.api.get(`${BASE}/${here().id}/messages${query}`)).as(messages);

  const GOOD: readonly (readonly [string, string])[] = [
    ['one character', 'x'],
    ['10,000 characters', 'x'.repeat(10_000)],
    ['10,000 emoji', '😀'.repeat(10_000)],
    ['right-to-left and joined marks', 'שלום 👩‍👩‍👧‍👦 \u202e end'],
    ['line breaks and tabs around text', '\n\t text \r\n'],
    ['control characters other than NUL', '\u0001\u007f'],
    ['a byte order mark and text', '\ufeffx'],
    ['JSON, SQL and HTML', `{"a":"';drop table--<script>"}`],
    ['unfinished tokens', '@[ @[x @[x](user:) @[x](user:y z)'],
    ['20 KB of unfinished tokens', '@['.repeat(5_000)],
    ['nested brackets', '@[[a]](user:x)'],
  ];

  const BAD: readonly (readonly [string, unknown])[] = [
    ['an empty text', ''],
    ['spaces', '   '],
    ['white space of all kinds', '\n\t\r\u00a0\u2003'],
    ['10,001 characters', 'x'.repeat(10_001)],
    ['10,001 emoji', '😀'.repeat(10_001)],
    ['40 KB of unfinished tokens', '@['.repeat(20_000)],
    ['NUL', 'a\u0000b'],
    ['a lone high surrogate', 'a\ud800'],
    ['a lone low surrogate', '\udc00a'],
    ['a number', 7],
    ['null', null],
    ['a list', ['x']],
    ['an object', { text: 'x' }],
    ['true', true],
    ['missing', undefined],
  ];

  describe('the body of a message', () => {
    for (const [what, body] of GOOD) {
      it(`may be ${what}, when sent and when edited`, async () => {
        const { ada, ben, id } = here();
        const sent = await say(ada, id, body);
        expect(sent).to.deep.include({ sender_user_id: ada.id, body, edited_at: null, deleted_at: null });
        const edited = (await ada.api.patch(path(sent.id), { body: `${body.slice(2)}y` })).as(liveMessage);
        expect(edited.body).to.equal(`${body.slice(2)}y`);
        const [last] = await list(ben, '?limit=1');
        expect(last).to.deep.equal(edited);
      });
    }

    for (const [what, body] of BAD) {
      it(`must not be ${what}, when sent and when edited`, async () => {
        const { ada, id } = here();
        const sent = await say(ada, id, 'stays');
        for (const answer of [
          await ada.api.post(`${BASE}/${id}/messages`, { body }),
          await ada.api.patch(path(sent.id), { body }),
        ]) {
          expect(answer.as(validationFailed, 400).details.field).to.equal('body');
        }
        expect((await list(ada, '?limit=1'))[0]).to.deep.equal(sent);
      });
    }
  });
});
