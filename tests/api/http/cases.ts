import { expect } from 'chai';
import { testRoutes } from './routes.ts';
import { serve, type TestRequest, type TestServer } from './support.ts';

/** One request and its refusal, if any. */
export interface Case {
  readonly name: string;
  readonly send: readonly [method: string, path: string, request?: TestRequest];
  readonly status: number;
  readonly error?: string;
  readonly field?: string;
}

/** Declares a suite with its own server and one test per case; checks the rules for all answers. */
export const describeCases = (suite: string, cases: readonly Case[]): void => {
  describe(suite, () => {
    let server: TestServer;
    before(async () => {
      server = await serve(testRoutes());
    });
    after(() => server.close());

    for (const one of cases) {
      it(`${one.name}: ${one.status} ${one.error ?? ''}`, () => check(server, one));
    }
  });
};

const check = async (server: TestServer, { send, status, error, field }: Case): Promise<void> => {
  const answer = await server.request(...send);
  expect(answer.status, answer.text).to.equal(status);
  expect(answer.headers.get('x-request-id')).to.match(/^[A-Za-z0-9._-]{1,128}$/);
  expect(answer.headers.get('cache-control')).to.equal('no-store');
  expect(answer.headers.get('x-content-type-options')).to.equal('nosniff');
  expect(answer.headers.get('www-authenticate')).to.equal(status === 401 ? 'Bearer' : null);
  if (error === undefined) return;
  expect(answer.json.error).to.equal(error);
  expect(answer.json.message).to.be.a('string').and.match(/\.$/);
  expect(answer.json.request_id).to.equal(answer.headers.get('x-request-id'));
  if (field === undefined) return;
  expect(answer.json.details).to.have.property('field', field);
  expect(answer.json.details).to.have.nested.property('issues[0].path', field);
};
