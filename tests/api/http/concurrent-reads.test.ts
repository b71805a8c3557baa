import { expect } from 'chai';
import { z } from 'zod';
import { route } from '../../../api/http/route.ts';
import { notFound } from '../../../domain/core/errors.ts';
import { eventually } from '../../support/server.ts';
import { serve, type TestServer } from './support.ts';

const PATH = '/api/v1/things';
/** How many reads of one tenant are answered at a time (docs/limits.md). */
const AT_ONCE = 16;

describe('Reads between their admission and their answer', () => {
  let server: TestServer;
  /** Ends the running handlers, in order of their start. */
  let running: (() => void)[] = [];
  let started = 0;
  let fails = false;
  const handle = async () => {
    if (fails) throw notFound();
    started += 1;
    await new Promise<void>((resolve) => running.push(resolve));
    return { status: 200, body: {} };
  };
  const of = (method: 'get' | 'delete', operationId: string) =>
    route({
      method,
      path: PATH,
      operationId,
      openQuery: true,
      summary: 'Takes until it is released',
      description: 'A route of the tests.',
      tag: 'Things',
      access: { kind: 'principals', kinds: ['user'] },
      responses: { 200: z.object({}) },
      handle,
    });
  beforeEach(async () => {
    running = [];
    started = 0;
    server = await serve([of('get', 'readThings'), of('delete', 'removeThings')]);
  });
  afterEach(async () => {
    for (const end of running.splice(0)) end();
    await server.close();
  });

  const ask = (as: string, method: 'GET' | 'DELETE' = 'GET', search = '') =>
    server.request(method, `${PATH}${search}`, { as });
  const burst = (count: number, as: string) => Array.from({ length: count }, () => ask(as));
  const untilStarted = (count: number) => eventually(`${count} handlers run`, () => started === count);

  /** Ends handlers as they start, until all answers are there. */
  const answered = async (asked: readonly Promise<{ readonly status: number }>[]): Promise<number[]> => {
    let isDone = false;
    const all = Promise.all(asked).finally(() => {
      isDone = true;
    });
    await eventually('all are answered', () => {
      for (const end of running.splice(0)) end();
      return isDone;
    });
    return (await all).map(({ status }) => status);
  };

  it('are limited for each tenant: further reads of a burst wait, and none is refused', async () => {
    const own = burst(AT_ONCE + 24, 'admin');
    await untilStarted(AT_ONCE);
    const other = ask('other');
    // The other tenant's read came last and has started; the rest of the burst has not.
    await untilStarted(AT_ONCE + 1);
    expect(await answered([...own, other])).to.deep.equal(Array(AT_ONCE + 25).fill(200));
    expect(started).to.equal(AT_ONCE + 25);
  });

  it('delay neither writes nor searches of the tenant', async () => {
    const own = [...Array.from({ length: AT_ONCE }, () => ask('admin', 'GET', '?filter=x')), ask('admin')];
    await untilStarted(AT_ONCE + 1);
    own.push(...burst(AT_ONCE + 4, 'admin'));
    await untilStarted(2 * AT_ONCE);
    own.push(ask('admin', 'DELETE'));
    await untilStarted(2 * AT_ONCE + 1);
    expect(await answered(own)).to.deep.equal(Array(2 * AT_ONCE + 6).fill(200));
  });

  it('release their slot when they fail', async () => {
    fails = true;
    expect(
      await Promise.all(burst(3 * AT_ONCE, 'admin').map(async (one) => (await one).status)),
    ).to.deep.equal(Array(3 * AT_ONCE).fill(404));
    fails = false;
    const own = burst(AT_ONCE, 'admin');
    await untilStarted(AT_ONCE);
    expect(await answered(own)).to.deep.equal(Array(AT_ONCE).fill(200));
  });
});
