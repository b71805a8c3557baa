import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import { z } from 'zod';
import { openApiDocument } from '../../../api/openapi/document.ts';
import { type AnswerCheck, createAnswerCheck } from '../../support/openapi-validator.ts';
import { KNOWN, testRoutes } from './routes.ts';
import { serve, type TestServer } from './support.ts';

let server: TestServer;
let document: Record<string, unknown>;
let check: AnswerCheck;

before(async () => {
  server = await serve(testRoutes());
  document = (await server.request('GET', '/openapi.json')).json;
  check = createAnswerCheck(document);
});
after(() => server.close());

describe('GET /openapi.json', () => {
  it('describes every route and system path, and lists aliases with their operation', () => {
    expect(document.openapi).to.equal('3.1.0');
    const paths = document.paths ?? {};
    for (const path of [
      '/api/v1/things/{id}',
      '/api/v1/things',
      '/super/tenants',
      '/health/ready',
      '/metrics',
      '/docs',
    ]) {
      expect(Object.keys(paths)).to.include(path);
    }
    expect(paths).not.to.have.property('/things');
    expect(document).to.have.nested.property('paths./api/v1/things.post.x-aliases[0]', '/things');
    const ids = JSON.stringify(document).match(/"operationId":"[^"]+"/g) ?? [];
    expect(new Set(ids).size).to.equal(ids.length);
  });

  it('names parameters, headers, security and components', async () => {
    const things = '/api/v1/things';
    expect(document).to.have.nested.property(`paths.${things}.get.security[0].tenantJwt`);
    expect(document).to.have.nested.property('paths./super/tenants.get.security[0].platformJwt');
    expect(document).to.have.nested.property('paths./auth/login.post.security').that.deep.equals([]);
    expect(document).to.have.nested.property('components.schemas.Error');
    expect(document).to.have.nested.property('components.securitySchemes.tenantJwt.scheme', 'bearer');
    const { paths } = await openApiDocument(testRoutes());
    const list = JSON.stringify(paths?.[things]?.get?.parameters);
    expect(list).to.contain('"name":"limit"').and.contain('"type":"integer"').and.contain('"X-Min-Position"');
    expect(list)
      .to.contain('"default":50')
      .and.not.contain('"default":"50"')
      .and.not.contain('"required":true');
    const create = JSON.stringify(paths?.[things]?.post);
    expect(create).to.contain('"Idempotency-Key"').and.contain('CreateThingBody').and.contain('"422"');
    expect(document).to.have.nested.property(
      'components.schemas.CreateThingBody.properties.title.maxLength',
      10,
    );
  });

  it('allows answers to gain members', () => {
    expect(JSON.stringify(document.components)).not.to.contain('"additionalProperties":false');
  });

  it('holds schemas that a validator compiles', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    ajv.addSchema({ ...document }, 'doc');
    expect(ajv.compile({ $ref: 'doc#/components/schemas/Error' })).to.be.a('function');
  });

  it('refuses an unknown error code in a route', async () => {
    const routes = testRoutes().map((route) => ({ ...route, errors: ['no_such_code'] }));
    const error: unknown = await openApiDocument(routes).catch((thrown: unknown) => thrown);
    expect(String(error)).to.contain('no_such_code');
  });

  it('refuses two schemas of one name', async () => {
    const answers = [z.object({ a: z.string() }), z.object({ b: z.string() })];
    const first = testRoutes()[0];
    if (first === undefined) throw new Error('there are no routes');
    const routes = Array.from({ length: 20 }, (_, n) => ({
      ...first,
      path: `/things-${n}`,
      operationId: `things${n}`,
      responses: { 200: (answers[n % 2] ?? z.object({})).meta({ id: 'Same' }) },
    }));
    const error: unknown = await openApiDocument(routes).catch((thrown: unknown) => thrown);
    expect(String(error)).to.contain('Same');
  });
});

describe('The check of answers against the document', () => {
  it('accepts real answers', async () => {
    for (const [method, path, as, body] of [
      ['GET', '/api/v1/things?limit=3', 'admin', undefined],
      ['GET', '/api/v1/things', 'nobody', undefined],
      ['GET', `/api/v1/things/${KNOWN}`, 'admin', undefined],
      ['GET', '/api/v1/things/x', 'admin', undefined],
      ['POST', '/api/v1/things', 'admin', { title: 'x' }],
      ['POST', '/things', 'admin', {}],
      ['PATCH', '/things', 'admin', {}],
      ['GET', '/nowhere', 'admin', undefined],
      ['GET', '/health/live', 'admin', undefined],
      ['GET', '/health/ready', 'admin', undefined],
      ['GET', '/openapi.json', 'admin', undefined],
      ['POST', '/auth/login', 'admin', { email: 'x', password: 'no' }],
    ] as const) {
      const answer = await server.request(method, path, { as, ...(body && { body }) });
      check(method, path, answer.status, JSON.parse(answer.text));
    }
    const gone = await server.request('DELETE', `/api/v1/things/${KNOWN}`, { as: 'admin' });
    check('DELETE', `/api/v1/things/${KNOWN}`, gone.status, undefined);
  });

  const thing = { id: 'x', title: 'y' };
  for (const { name, answer } of [
    { name: 'an unknown path', answer: ['GET', '/nowhere', 200, {}] },
    { name: 'an unknown status', answer: ['GET', '/things', 200, []] },
    {
      name: 'a status that is not documented',
      answer: ['GET', '/api/v1/things', 418, { error: 'x', message: 'y' }],
    },
    { name: 'a missing key', answer: ['GET', '/api/v1/things', 200, [{ id: 'x' }]] },
    { name: 'a wrong type', answer: ['GET', '/api/v1/things', 200, { ...thing }] },
    {
      name: 'an error without a message',
      answer: ['GET', '/api/v1/things', 400, { error: 'validation_failed' }],
    },
    {
      name: 'an unknown error code',
      answer: ['GET', '/api/v1/things', 400, { error: 'oops', message: 'x' }],
    },
    { name: 'a body where there is none', answer: ['DELETE', '/api/v1/things/1', 204, {}] },
  ] as const) {
    it(`refuses ${name}`, () => {
      const [method, path, status, body] = answer;
      expect(() => check(method, path, status, body)).to.throw();
    });
  }

  it('accepts further members of an answer', () => {
    check('GET', `/api/v1/things/${KNOWN}`, 200, { ...thing, more: 1 });
  });
});

describe('GET /docs', () => {
  it('loads nothing from elsewhere', async () => {
    const page = await server.request('GET', '/docs');
    expect(page.headers.get('content-type')).to.match(/^text\/html/);
    expect(page.headers.get('content-security-policy')).to.contain("default-src 'none'");
    expect(page.text).not.to.match(/https?:|<script>/);
    const files = [...page.text.matchAll(/(?:src|href)="(docs\/[^"]+)"/g)].map(([, file]) => file ?? '');
    expect(files).to.have.length(3);
    for (const file of files) {
      const answer = await server.request('GET', `/${file}`);
      expect([answer.status, answer.headers.get('x-content-type-options')]).to.deep.equal([200, 'nosniff']);
      expect(answer.text.length).to.be.greaterThan(50);
    }
  });

  it('serves no other file of the package', async () => {
    for (const file of ['package.json', '..%2F..%2Fpackage.json', 'index.html', 'constructor']) {
      expect((await server.request('GET', `/docs/${file}`)).status).to.equal(404);
    }
  });
});
