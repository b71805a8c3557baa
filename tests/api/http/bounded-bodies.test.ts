import { expect } from 'chai';
import { z } from 'zod';
import { unboundedList } from '../../../api/http/bounded-bodies.ts';
import { listOf } from '../../../domain/core/list-schema.ts';

describe('Lists in request bodies', () => {
  const bounded = listOf(z.string(), { min: 1, max: 3, tooShort: 'At least one.' });

  it('are refused by their length before any element is checked', () => {
    let checked = 0;
    const counted = listOf(
      z.unknown().refine(() => {
        checked += 1;
        return true;
      }),
      { max: 3 },
    );
    const [issue] = counted.safeParse([1, 2, 3, 4]).error?.issues ?? [];
    expect(issue).to.include({ code: 'too_big', maximum: 3 });
    expect(checked).to.equal(0);
  });

  it('are accepted within their bounds', () => {
    expect(bounded.parse(['a', 'b', 'c'])).to.deep.equal(['a', 'b', 'c']);
    expect(bounded.safeParse([]).error?.issues[0]?.message).to.equal('At least one.');
    expect(bounded.safeParse('a').success).to.equal(false);
    expect(bounded.safeParse([1]).error?.issues[0]?.path).to.deep.equal([0]);
  });

  it('are found at any depth when they have no bound, so that the start fails', () => {
    const inside = z.object({ a: z.union([z.string(), z.object({ b: z.array(z.string()).optional() })]) });
    expect(unboundedList(inside)).to.equal('body.a.1.b.0');
    expect(unboundedList(listOf(z.array(z.string()), { max: 3 }))).to.equal('body.1.0');
    expect(unboundedList(z.object({ a: bounded.refine(() => true).optional() }))).to.equal(undefined);
  });
});
