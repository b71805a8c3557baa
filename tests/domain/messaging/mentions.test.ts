import { expect } from 'chai';
import fc from 'fast-check';
import { codePoints } from '../../../domain/core/text.ts';
import {
  mentionedIds,
  snippetSource,
  storedMentions,
  toBody,
  toSnippet,
  toStoredText,
} from '../../../domain/messaging/mentions.ts';

const NAMES: Record<string, string> = { u1: 'Ann', u2: 'Bob 😀', 'a:b|c@d.e_-f': 'Odd', u3: 'L'.repeat(150) };
const nameOf = (id: string): string => NAMES[id] ?? '[erased]';
const known = new Set(Object.keys(NAMES));
const token = (id: string, name = 'Somebody'): string => `@[${name}](user:${id})`;

/** Texts of plain stretches, emoji, hostile fragments and real tokens. */
const bodies = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 60 }),
      fc.constantFrom('@[', '](user:', ')', '@[x](user:', '😀'.repeat(40), 'x'.repeat(139), '\n', '@'),
      fc.constantFrom(...known, 'nobody').map((id) => token(id)),
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join('').replaceAll('\u0000', ''));

describe('Mention tokens', () => {
  it('name each person once, in order of appearance', () => {
    expect(mentionedIds(`${token('u2')} and ${token('u1')} and ${token('u2')}`)).to.deep.equal(['u2', 'u1']);
  });

  it('have the syntax of the decisions', () => {
    const none = [
      '@[](user:u1)',
      '@[a](user:)',
      '@[a] (user:u1)',
      '@[a](User:u1)',
      '@[a[b](user:u 1)',
      `@[${'x'.repeat(129)}](user:u1)`,
      `@[a](user:${'x'.repeat(129)})`,
      'ann@[a',
    ];
    for (const body of none) expect(mentionedIds(body), body).to.deep.equal([]);
    for (const body of [`@[${'x'.repeat(128)}](user:u1)`, '@[[x](user:u1)'.slice(0, 2) + token('u1')]) {
      expect(mentionedIds(body), body).to.deep.equal(['u1']);
    }
  });

  it('accept names of up to 128 characters, of any number of code units', () => {
    expect(mentionedIds(token('u1', '😀'.repeat(128)))).to.deep.equal(['u1']);
    expect(mentionedIds(token('u1', '😀'.repeat(129)))).to.deep.equal([]);
  });

  it('are limited in number', () => {
    const body = Array.from({ length: 20 }, (_, n) => token(`u${n}`)).join('');
    expect(mentionedIds(body, 5)).to.deep.equal(['u0', 'u1', 'u2', 'u3', 'u4']);
  });
});

describe('Stored texts', () => {
  it('hold ids and no names', () => {
    const stored = toStoredText(`hello ${token('u1', 'Secret Name')}!`, known);
    expect(stored).to.equal('hello \u0000u1\u0000!');
    expect(storedMentions(stored)).to.deep.equal(['u1']);
  });

  it('keep tokens of unknown users as typed', () => {
    const body = `hello ${token('stranger')}`;
    expect(toStoredText(body, known)).to.equal(body);
  });

  it('show the present name without characters of the token syntax', () => {
    const stored = toStoredText(token('u1', 'Old Name'), known);
    expect(toBody(stored, () => 'New\n[Name]')).to.equal('@[New  Name ](user:u1)');
  });

  it('convert back to the body with present names', () => {
    fc.assert(
      fc.property(bodies, (body) => {
        const stored = toStoredText(body, known);
        const shown = toBody(stored, () => 'Somebody');
        expect(shown).to.equal(body);
        expect(toStoredText(shown, known)).to.equal(stored);
        expect(storedMentions(stored)).to.deep.equal(mentionedIds(body).filter((id) => known.has(id)));
      }),
      { numRuns: 500 },
    );
  });
});

describe('Snippets', () => {
  it('show tokens as @name', () => {
    expect(toSnippet(toStoredText(`hi ${token('u1')}.`, known), nameOf)).to.equal('hi @Ann.');
  });

  it('hold at most 140 whole characters', () => {
    fc.assert(
      fc.property(bodies, (body) => {
        const snippet = toSnippet(toStoredText(body, known), nameOf);
        expect(codePoints(snippet)).to.be.at.most(140);
        expect(snippet.isWellFormed()).to.equal(true);
        expect(snippet).not.to.include('\u0000');
      }),
      { numRuns: 500 },
    );
  });

  it('are the same from the stored excerpt as from the whole text', () => {
    fc.assert(
      fc.property(bodies, (body) => {
        const stored = toStoredText(body, known);
        const source = snippetSource(stored);
        expect(toSnippet(source, nameOf)).to.equal(toSnippet(stored, nameOf));
        expect(source.isWellFormed()).to.equal(true);
        // No mark is split: every NUL of the excerpt belongs to a pair around an id.
        expect(source.split('\u0000').length % 2).to.equal(1);
        expect(storedMentions(source)).to.deep.equal(
          storedMentions(stored).slice(0, storedMentions(source).length),
        );
      }),
      { numRuns: 1000 },
    );
  });

  it('count characters, not code units, before a mention', () => {
    const stored = toStoredText(`${'😀'.repeat(100)}${token('u1')}`, known);
    expect(toSnippet(snippetSource(stored), nameOf)).to.equal(`${'😀'.repeat(100)}@Ann`);
  });

  it('need a short excerpt only', () => {
    const stored = toStoredText(`${token('u1')}${'x'.repeat(9000)}`, known);
    expect(snippetSource(stored).length).to.be.at.most(145);
  });
});

describe('Hostile texts of 40 KB', () => {
  const hostile = [
    '@['.repeat(20_000),
    `@[${'x'.repeat(126)}`.repeat(310),
    `@[x](user:${'y'.repeat(120)}`.repeat(300),
    `@[${'x'.repeat(40_000)}](user:u1)`,
    token('u1').repeat(1900),
    '](user:'.repeat(6000),
    '\u0000u1'.repeat(13_000),
    '\u0000'.repeat(40_000),
    '😀'.repeat(10_000),
  ];
  const work = (text: string): void => {
    mentionedIds(text);
    const stored = toStoredText(text, known);
    storedMentions(stored);
    toBody(stored, nameOf);
    toSnippet(snippetSource(stored), nameOf);
  };
  const timed = (text: string): number => {
    let best = Number.POSITIVE_INFINITY;
    for (let round = 0; round < 5; round += 1) {
      const started = performance.now();
      work(text);
      best = Math.min(best, performance.now() - started);
    }
    return best;
  };

  for (const [index, text] of hostile.entries()) {
    it(`take linear time (${index + 1})`, () => {
      const short = text.slice(0, text.length / 8);
      const [little, much] = [timed(short), timed(text)];
      // Eight times the text: quadratic parsing would take sixty-four times as long.
      expect(much).to.be.lessThan(little * 32 + 10);
    });
  }
});
