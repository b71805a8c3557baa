import { expect } from 'chai';
import fc from 'fast-check';
import { attributes, escaped, html } from '../../../api/pages/html.ts';

const unescaped = (text: string): string =>
  text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');

describe('HTML of the pages', () => {
  it('escapes text and quoted values completely and without loss', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...`<>&"'a;=/ `) }), (text) => {
        const safe = escaped(text);
        expect(safe).not.to.match(/[<>"']/);
        expect(safe.replaceAll(/&(amp|lt|gt|quot|#39);/g, '')).not.to.contain('&');
        expect(unescaped(safe)).to.equal(text);
      }),
    );
  });

  it('escapes values, except its own HTML', () => {
    const inner = html`<b>${'<i>'}</b>`;
    expect(html`<p>${inner}${'&'}${undefined}${[inner, undefined]}${7}</p>`.text).to.equal(
      '<p><b>&lt;i&gt;</b>&amp;<b>&lt;i&gt;</b>7</p>',
    );
  });

  it('writes quoted attributes, and omits absent ones', () => {
    const written = attributes({ a: '"x"', b: 0, c: true, d: false, e: undefined, f: '' });
    expect(written.text).to.equal(' a="&quot;x&quot;" b="0" c f=""');
  });
});
