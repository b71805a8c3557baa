import { expect } from 'chai';
import { API_TOKENS, mintToken } from '../../support/delegation.ts';
import { type RawAnswer, sendRaw } from '../../support/raw.ts';
import { user } from '../../support/shapes.ts';
import {
  endWorld,
  type Member,
  sharedWorld,
  type TestTenant,
  USERS,
  type World,
} from '../../support/world.ts';

const ME = '/api/v1/tenant/me';

/** Raw bytes that try to pass as another person's request. The answer of `/me` identifies each person. */
describe('Smuggled headers', () => {
  let world: World;
  let home: TestTenant;
  let ada: Member;
  let eve: Member;

  before(async () => {
    world = await sharedWorld();
    home = await world.tenant();
    ada = await home.person('Ada');
    eve = (await world.tenant()).admin;
  });
  after(endWorld);

  const bearer = (who: { token: string }): string => `Authorization: Bearer ${who.token}`;
  const request = (lines: readonly string[], line = `GET ${ME} HTTP/1.1`, body = ''): string =>
    `${[line, 'Host: api.example', ...lines, 'Connection: close'].join('\r\n')}\r\n\r\n${body}`;
  const send = (bytes: string): Promise<RawAnswer[]> => sendRaw(world.server, Buffer.from(bytes, 'latin1'));
  /** Ids of people whose requests were answered, and codes of refused requests. */
  const seen = (answers: readonly RawAnswer[]) =>
    answers.map(({ status, body, error }) => (status === 200 ? user.loose().parse(body).id : error));

  it('have a control: one valid request is answered', async () => {
    expect(seen(await send(request([bearer(ada)])))).to.deep.equal([ada.id]);
  });

  it('in two Authorization headers are refused, in any order and case, even when equal', async () => {
    for (const [one, other] of [
      [bearer(ada), bearer(eve)],
      [bearer(eve), bearer(ada)],
      [bearer(ada), bearer(ada)],
      [bearer(ada), bearer(eve).toUpperCase().replace(/ \S+$/, ` ${eve.token}`)],
      [bearer(ada), bearer(eve).replace('Authorization', 'aUTHORIZATION')],
      [bearer(ada), 'Authorization:'],
      ['Authorization:', bearer(ada)],
      [bearer(ada), 'Authorization: Basic eDp5'],
      ['Authorization: Basic eDp5', bearer(ada)],
    ] as const) {
      expect(seen(await send(request([one, 'X-Between: 1', other]))), `${one}|${other}`).to.deep.equal([
        'invalid_credential',
      ]);
    }
  });

  it('with malformed credentials are refused: joined, doubled, quoted, with parameters', async () => {
    for (const value of [
      `Bearer ${ada.token}, Bearer ${eve.token}`,
      `Bearer ${ada.token},${eve.token}`,
      `Bearer ${ada.token} ${eve.token}`,
      `Bearer Bearer ${ada.token}`,
      `Bearer "${ada.token}"`,
      `Bearer token=${ada.token}`,
      `Bearer ${ada.token};`,
      `Bearer\t${ada.token}`,
      `Bearer${ada.token}`,
      `JWT ${ada.token}`,
      `Token ${ada.token}`,
      ada.token,
      `Bearer ${ada.token}\xa0`,
      `Bearer \xef\xbb\xbf${ada.token}`,
    ]) {
      const [answer] = seen(await send(request([`Authorization: ${value}`])));
      expect(answer, JSON.stringify(value)).to.equal('invalid_credential');
    }
  });

  it('after a fold, a bare line end, a NUL or another control character are refused', async () => {
    for (const line of [
      `Authorization: Bearer\r\n ${ada.token}`,
      `X-Fold: a\r\n ${bearer(ada)}`,
      `X-Fold: a\r\n\t${bearer(ada)}`,
      `X-Return: a\r${bearer(ada)}`,
      `X-Feed: a\n${bearer(ada)}`,
      `X-Null: a\0${bearer(ada)}`,
      `${bearer(ada)}\0`,
      `${bearer(ada)}\x01`,
      `${bearer(ada)}\x7f`,
      `${bearer(ada)}\x0b`,
      `Auth\0orization: Bearer ${ada.token}`,
      `Authorization : Bearer ${ada.token}`,
      ` Authorization: Bearer ${ada.token}`,
      `\x0bAuthorization: Bearer ${ada.token}`,
      `Authorization\xa0: Bearer ${ada.token}`,
      `Authorization\r\n: Bearer ${ada.token}`,
    ]) {
      const answers = await send(request([line]));
      expect(
        answers.map(({ status }) => status),
        JSON.stringify(line),
      ).to.deep.equal([400]);
    }
  });

  it('of 64 KB are refused, and so is a credential of 9 KB', async () => {
    const [huge] = await send(request([bearer(ada), `X-Huge: ${'x'.repeat(65_536)}`]));
    expect(huge?.status).to.equal(431);
    const [long] = await send(request([`Authorization: Bearer ${ada.token}${'x'.repeat(65_536)}`]));
    expect(long?.status).to.equal(431);
    const [middle] = await send(request([`Authorization: Bearer ${'x'.repeat(9000)}`]));
    expect([middle?.status, middle?.error]).to.deep.equal([401, 'invalid_credential']);
    const many = Array.from({ length: 3000 }, (_, i) => `X-${i}: y`);
    expect((await send(request([...many, bearer(ada)])))[0]?.status).to.be.oneOf([401, 431]);
  });

  it('in the trailer of a chunked body are ignored', async () => {
    for (const trailer of [bearer(ada), `${bearer(ada)}\r\n${bearer(eve)}`]) {
      const body = `2\r\n{}\r\n0\r\n${trailer}\r\n\r\n`;
      const lines = ['Transfer-Encoding: chunked', 'Trailer: Authorization'];
      expect(seen(await send(request(lines, undefined, body)))).to.deep.equal(['unauthenticated']);
    }
  });

  it('hide no second request in a body of ambiguous length', async () => {
    const hidden = request([bearer(eve)]);
    const length = `Content-Length: ${hidden.length + 5}`;
    for (const lines of [
      [length, 'Transfer-Encoding: chunked'],
      ['Transfer-Encoding: chunked', length],
      ['Transfer-Encoding: chunked', 'Content-Length: 0'],
      ['Transfer-Encoding : chunked', length],
      ['Transfer-Encoding: xchunked', length],
      ['Transfer-Encoding: chunked, identity'],
      ['Transfer-Encoding: identity, chunked', length],
      ['Transfer-Encoding: chunked', 'Transfer-Encoding: x'],
      ['Transfer-Encoding:\x0bchunked', length],
      ['X: y\rTransfer-Encoding: chunked', length],
      ['Content-Length: 0', length],
      [length, 'Content-Length: 0'],
      ['Content-Length: 0, 5'],
      ['Content-Length: +5'],
      ['Content-Length: 0x5'],
      ['Content-Length: -1'],
      ['Content-Length: 5 5'],
      ['Content-Length: 1e1'],
      ['Content-Length:'],
      ['Content-Length: 99999999999999999999'],
    ]) {
      const answers = await send(
        request([...lines, bearer(ada)], `POST ${USERS} HTTP/1.1`, `0\r\n\r\n${hidden}`).replace(
          'Connection: close\r\n',
          '',
        ),
      );
      expect(
        answers.map(({ status }) => status),
        lines.join(' | '),
      ).to.deep.equal([400]);
    }
  });

  it('of one request do not affect the next on the connection', async () => {
    const keep = (lines: readonly string[]) => request(lines).replace('Connection: close\r\n', '');
    const bytes = [keep([bearer(ada)]), keep([bearer(eve)]), keep([]), keep([bearer(ada)]), request([])];
    expect(seen(await send(bytes.join('')))).to.deep.equal([
      ada.id,
      eve.id,
      'unauthenticated',
      ada.id,
      'unauthenticated',
    ]);
  });

  it('in an unread body, or after a refused upgrade, are no request', async () => {
    const hidden = request([bearer(eve)]);
    const keep = (lines: readonly string[], path = USERS, body = hidden) =>
      request(lines, `POST ${path} HTTP/1.1`, body).replace('Connection: close\r\n', '');
    const length = `Content-Length: ${hidden.length}`;
    const chunked = `${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`;
    const json = 'Content-Type: application/json';
    for (const [first, refusedWith] of [
      [keep([length, json]), 'unauthenticated'],
      [keep([length, json, bearer(ada)]), 'admin_required'],
      [keep([length, json], '/super/tenants'), 'unauthenticated'],
      [keep([length, json], '/nowhere'), 'not_found'],
      [keep([length, json], '/auth/login'), 'malformed_json'],
      [keep([length, 'Content-Type: text/plain'], '/auth/login'), 'unsupported_media_type'],
      [keep(['Transfer-Encoding: chunked', json], USERS, chunked), 'unauthenticated'],
      [keep(['Transfer-Encoding: chunked', json], '/auth/login', chunked), 'malformed_json'],
    ] as const) {
      const answers = seen(await send(`${first}${request([bearer(ada)])}`));
      expect(answers[0], first.slice(0, 40)).to.equal(refusedWith);
      // The connection may close; bytes of the body are not read as a request.
      expect(answers.slice(1), first.slice(0, 40)).to.be.deep.oneOf([[], [ada.id]]);
    }
    const upgrade = ['Upgrade: websocket', 'Connection: Upgrade', 'Sec-WebSocket-Version: 13'];
    for (const path of ['/api/v1/ws', ME, '/nowhere']) {
      const answers = await send(
        request([...upgrade, 'Sec-WebSocket-Key: x'], `GET ${path} HTTP/1.1`, hidden).replace(
          'Connection: close\r\n',
          '',
        ),
      );
      expect(answers, path).to.have.length(1);
      expect(answers[0]?.status, path).to.be.within(400, 499);
    }
  });

  it('with two hosts or without a host get 400, also at the handshake of the WebSocket', async () => {
    const socket = ['Upgrade: websocket', 'Connection: Upgrade', 'Sec-WebSocket-Version: 13'];
    const key = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==';
    for (const hosts of [
      ['Host: api.example', 'Host: evil.example'],
      ['Host: api.example', 'HOST: api.example'],
      ['Host: api.example', 'Host:'],
      [],
    ]) {
      for (const [path, lines] of [
        [ME, ['Connection: close']],
        ['/api/v1/ws', [...socket, key]],
      ] as const) {
        const bytes = [`GET ${path} HTTP/1.1`, ...hosts, bearer(ada), ...lines].join('\r\n');
        const [answer] = await send(`${bytes}\r\n\r\n`);
        expect(answer?.status, bytes).to.equal(400);
        expect(answer?.body, bytes).to.have.property('error', 'validation_failed');
        expect(answer?.body, bytes).to.have.property('message').that.is.a('string');
      }
    }
  });

  it('with look-alike letters of an API token are refused', async () => {
    const { token } = await mintToken(home.admin.api);
    const sent = (given: string) => send(request([`Authorization: Bearer ${given}`]));
    expect(seen(await sent(token))).to.deep.equal(['tenant_session_required']);
    const utf8 = (text: string): string => Buffer.from(text).toString('latin1');
    for (const given of [
      utf8(token.replace('s', 'ѕ')),
      utf8(token.replace('svc_pat_', 'ｓvc_pat_')),
      utf8(token.replaceAll('_', '＿')),
      utf8(`${token}\u200b`),
      `${token}%20`,
      token.replace('_', '%5F'),
      token.normalize('NFD').split('').reverse().join(''),
    ]) {
      expect(seen(await sent(given)), given.slice(0, 12)).to.deep.equal(['invalid_credential']);
    }
  });

  it('are ignored in a cookie beside a bearer', async () => {
    const cookie = `Cookie: token=${eve.token}; Authorization=Bearer ${eve.token}`;
    expect(seen(await send(request([cookie, bearer(ada)])))).to.deep.equal([ada.id]);
  });

  it('for proxies and frameworks change neither the caller nor the request', async () => {
    const { id } = await mintToken(home.admin.api);
    const plain = (await home.admin.api.get(ME)).text;
    const headers = {
      'x-http-method-override': 'DELETE',
      'x-http-method': 'DELETE',
      'x-method-override': 'DELETE',
      'x-original-url': '/super/tenants',
      'x-rewrite-url': '/super/tenants',
      'x-forwarded-uri': '/super/tenants',
      'x-forwarded-path': '/super/tenants',
      'x-forwarded-prefix': '/super',
      'x-original-uri': '/super/tenants',
      'x-forwarded-user': eve.id,
      'x-forwarded-email': eve.email,
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'https',
      'x-real-ip': '127.0.0.1',
      forwarded: 'for=127.0.0.1;host=evil.example',
      'x-remote-user': eve.id,
      'remote-user': eve.id,
      'x-user-id': eve.id,
      'x-user': eve.id,
      'x-role': 'super_admin',
      'x-tenant': eve.tenantId,
      'x-tenant-id': eve.tenantId,
      'x-impersonate-user': eve.id,
      'x-impersonated-by': 'root@platform.example',
      'x-client-cert': 'x',
      'x-ssl-client-verify': 'SUCCESS',
    };
    expect((await home.admin.api.get(ME, { headers })).text).to.equal(plain);
    expect((await world.anybody.get(ME, { headers })).error).to.equal('unauthenticated');
    for (const path of ['/super/tenants', '/api/v1/partner-portal/me']) {
      expect((await home.admin.api.get(path, { headers })).error, path).to.equal('invalid_credential');
    }
    const overridden = await home.admin.api.post(
      `${API_TOKENS}/${id}?_method=DELETE`,
      { _method: 'DELETE' },
      { headers },
    );
    expect([overridden.status, overridden.error]).to.deep.equal([405, 'method_not_allowed']);
    expect((await home.admin.api.get(API_TOKENS)).text).to.contain(`"revoked_at":null`);
  });
});
