import { expect } from 'chai';
import { prefersHtml } from '../../../api/http/accept.ts';

describe('The preferred answer of a client', () => {
  for (const [accept, html] of [
    [undefined, false],
    ['', false],
    ['*/*', false],
    ['application/json', false],
    ['text/plain', false],
    ['text/*', true],
    ['text/html', true],
    ['TEXT/HTML', true],
    ['text/html;charset=utf-8', true],
    ['text/html, application/xhtml+xml, application/xml;q=0.9, image/avif, */*;q=0.8', true],
    ['text/html,*/*', true],
    ['text/html,application/json', true],
    ['application/json,text/html', false],
    ['application/json;q=0.9, text/html', true],
    ['application/json, text/html;q=0.9', false],
    ['text/html;q=0.5, */*', false],
    ['text/html;q=0.5, application/*', false],
    ['text/html;q=0', false],
    ['text/html;q=x', false],
    ['text/html; q=0.3', true],
  ] as const) {
    it(`is ${html ? 'HTML' : 'JSON'} for ${accept}`, () => {
      expect(prefersHtml(accept)).to.equal(html);
    });
  }

  it('is found quickly for any header', () => {
    const began = performance.now();
    prefersHtml(`text/html${';q'.repeat(100_000)}${',a/b'.repeat(100_000)}`);
    expect(performance.now() - began, 'comparing all parts with each other takes minutes').to.be.lessThan(
      10_000,
    );
  });
});
