import { expect } from 'chai';
import fc from 'fast-check';
import { z } from 'zod';
import { parseForm } from '../../../api/http/form-body.ts';
import { type Route, route } from '../../../api/http/route.ts';
import { listOf } from '../../../domain/core/list-schema.ts';
import { serve, type TestServer } from './support.ts';

const FORM = 'application/x-www-form-urlencoded';
const body = z.object({
  name: z.string(),
  colours: z.union([z.string(), listOf(z.string(), { max: 100 })]).optional(),
});
const both = route({
  method: 'post',
  path: '/both',
  operationId: 'both',
  summary: 'Takes JSON and forms',
  description: 'A route of the tests.',
  tag: 'Forms',
  access: { kind: 'public' },
  bodyKinds: ['json', 'form'],
  body,
  responses: { 200: body },
  handle: async (request) => ({ status: 200, body: request.body }),
});
const only: Route = { ...both, path: '/only', operationId: 'only', bodyKinds: ['form'] };

describe('Form bodies', () => {
  let server: TestServer;
  before(async () => {
    server = await serve([both, only]);
  });
  after(() => server.close());

  interface Case {
    readonly name: string;
    readonly body: string | Buffer;
    readonly type?: string;
    readonly path?: string;
    readonly status: number;
    readonly gives?: unknown;
    readonly error?: string;
  }

  const cases: readonly Case[] = [
    { name: 'a form', body: 'name=Ann', status: 200, gives: { name: 'Ann' } },
    { name: 'plus and percent', body: 'name=A+%2B%C3%BC', status: 200, gives: { name: 'A +ü' } },
    {
      name: 'a name that comes again',
      body: 'name=x&colours=red&colours=blue&colours=',
      status: 200,
      gives: { name: 'x', colours: ['red', 'blue', ''] },
    },
    {
      name: 'JSON on a route that also takes forms',
      body: '{"name":"Ann"}',
      type: 'application/json',
      status: 200,
      gives: { name: 'Ann' },
    },
    {
      name: 'a charset',
      body: 'name=Ann',
      type: `${FORM}; charset=UTF-8`,
      status: 200,
      gives: { name: 'Ann' },
    },
    {
      name: 'another charset',
      body: 'name=Ann',
      type: `${FORM};charset=latin1`,
      status: 415,
      error: 'unsupported_media_type',
    },
    {
      name: 'another type',
      body: 'name=Ann',
      type: 'text/plain',
      status: 415,
      error: 'unsupported_media_type',
    },
    {
      name: 'JSON where only forms are taken',
      path: '/only',
      body: '{"name":"Ann"}',
      type: 'application/json',
      status: 415,
      error: 'unsupported_media_type',
    },
    {
      name: 'multipart',
      body: '--x--',
      type: 'multipart/form-data; boundary=x',
      status: 415,
      error: 'unsupported_media_type',
    },
    { name: 'a broken escape', body: 'name=%zz', status: 400, error: 'validation_failed' },
    { name: 'an escape that is no UTF-8', body: 'name=%ff', status: 400, error: 'validation_failed' },
    { name: 'broken UTF-8', body: Buffer.from([0x6e, 0x3d, 0xff]), status: 400, error: 'malformed_json' },
    { name: 'a missing name', body: 'other=1', status: 400, error: 'validation_failed' },
    {
      name: 'too many bytes',
      body: `name=${'x'.repeat(1_048_577)}`,
      status: 413,
      error: 'payload_too_large',
    },
    {
      name: 'too many fields',
      body: `name=x${'&a=1'.repeat(1000)}`,
      status: 400,
      error: 'validation_failed',
    },
    { name: 'just enough fields', body: `name=x${'&a=1'.repeat(999)}`, status: 200, gives: { name: 'x' } },
    {
      name: 'names of JavaScript',
      body: 'name=x&__proto__=y&constructor=z&__proto__[admin]=1',
      status: 200,
      gives: { name: 'x' },
    },
  ];
  for (const { name, body: sent, type = FORM, path = '/both', status, gives, error } of cases) {
    it(`${name}: ${status}`, async () => {
      const answer = await server.request('POST', path, { body: sent, headers: { 'Content-Type': type } });
      expect([answer.status, answer.json.error], answer.text.slice(0, 300)).to.deep.equal([status, error]);
      if (gives !== undefined) expect(answer.json).to.deep.equal(gives);
    });
  }

  it('do not change the prototype of objects', () => {
    const values = parseForm('__proto__=x&constructor=y&prototype=z&hasOwnProperty=1&a=b');
    expect(Object.keys(values)).to.deep.equal(['hasOwnProperty', 'a']);
    expect(Object.getPrototypeOf(values)).to.equal(Object.prototype);
    expect(({} as Record<string, unknown>).x).to.equal(undefined);
  });

  it('are parsed as URLSearchParams writes them', () => {
    const pair = fc.tuple(
      fc.string({ unit: 'binary' }).filter((text) => text.isWellFormed() && !(text in {})),
      fc.string({ unit: 'binary' }).filter((text) => text.isWellFormed()),
    );
    fc.assert(
      fc.property(fc.array(pair, { maxLength: 10 }), (pairs) => {
        const values = parseForm(new URLSearchParams(pairs).toString());
        for (const [name] of pairs) {
          const all = pairs.filter(([other]) => other === name).map(([, value]) => value);
          if (['constructor', 'prototype', '__proto__'].includes(name)) continue;
          expect([values[name]].flat()).to.deep.equal(all);
        }
      }),
    );
  });

  it('are documented beside JSON', async () => {
    const { json } = await server.request('GET', '/openapi.json');
    const content = 'paths./both.post.requestBody.content';
    expect(json).to.have.nested.property(content).with.keys('application/json', FORM);
    expect(json).to.have.nested.property(content.replace('both', 'only')).with.keys(FORM);
  });
});
