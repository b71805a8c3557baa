import { expect } from 'chai';
import { chromiumPath, startPages, type TestPages } from '../../support/chromium.ts';
import { endWorld, type Member, say, startWorld, talk, type World } from '../../support/world.ts';

/** The interface in a browser, from a page of a second origin. Skipped where no Chromium is installed. */
describe('A page of a second origin, in Chromium', () => {
  const path = chromiumPath();
  let world: World;
  let pages: TestPages;
  let ada: Member;
  let ben: Member;
  let conversation: string;

  before(async function () {
    this.timeout(60_000);
    if (path === undefined) return this.skip();
    pages = await startPages(path);
    world = await startWorld({ env: { CORS_ORIGINS: pages.origin } });
    const tenant = await world.tenant();
    [ada, ben] = [await tenant.person('Ada'), await tenant.person('Ben')];
    conversation = await talk(ada, ben);
  });
  after(async () => {
    await pages?.end();
    await endWorld();
  });

  const given = () => ({ base: world.server.base, token: ada.token, conversation });

  it('writes and reads with every header of the interface', async () => {
    const page = await pages.newPage();
    const seen = await page.evaluate(async ({ base, token, conversation }) => {
      const messages = `${base}/api/v1/tenant/messaging/conversations/${conversation}/messages`;
      const authorization = `Bearer ${token}`;
      const send = () =>
        fetch(messages, {
          method: 'POST',
          headers: { authorization, 'content-type': 'application/json', 'idempotency-key': 'one page' },
          body: JSON.stringify({ body: 'from a page' }),
        });
      const first = await send();
      const again = await send();
      const id = /"id":"([^"]+)"/.exec(await first.text())?.[1];
      const position = first.headers.get('x-event-position') ?? '';
      const list = await fetch(`${messages}?limit=1`, {
        headers: { authorization, 'x-min-position': position, 'x-request-id': 'from-a-page' },
      });
      const edited = await fetch(`${messages}/${id}`, {
        method: 'PATCH',
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify({ body: 'changed' }),
      });
      const gone = await fetch(`${messages}/${id}`, { method: 'DELETE', headers: { authorization } });
      return {
        statuses: [first, again, list, edited, gone].map(({ status }) => status),
        position,
        replayed: again.headers.get('idempotency-replayed'),
        link: list.headers.get('link'),
        requestId: list.headers.get('x-request-id'),
      };
    }, given());
    expect(seen.statuses).to.deep.equal([201, 201, 200, 200, 200]);
    expect(seen.position).to.match(/^[\x21-\x7e]{1,128}$/);
    expect(seen.replayed).to.equal('true');
    expect(seen.requestId).to.equal('from-a-page');
  });

  it('reads the errors', async () => {
    const page = await pages.newPage();
    const seen = await page.evaluate(async ({ base }) => {
      const answer = await fetch(`${base}/api/v1/tenant/me`, { headers: { authorization: 'Bearer x' } });
      return { status: answer.status, text: await answer.text(), id: answer.headers.get('x-request-id') };
    }, given());
    expect(seen.status).to.equal(401);
    expect(JSON.parse(seen.text)).to.deep.include({ error: 'invalid_credential', request_id: seen.id });
  });

  it('receives envelopes over a WebSocket', async () => {
    const page = await pages.newPage();
    const ready = page.waitForEvent('console');
    const received = page.evaluate(
      ({ base, token }) =>
        new Promise<string>((resolve, reject) => {
          const socket = new WebSocket(`${base.replace('http', 'ws')}/api/v1/ws`, ['bearer', token]);
          socket.onerror = () => reject(new Error('refused'));
          socket.onmessage = ({ data }) => {
            if (String(data).includes('"ready"')) console.log('ready');
            else resolve(String(data));
          };
        }),
      given(),
    );
    expect((await ready).text()).to.equal('ready');
    await say(ben, conversation, 'to the page');
    expect(JSON.parse(await received)).to.have.nested.property('message.body', 'to the page');
  });

  it('neither reads nor connects when its origin is not in the list', async () => {
    const page = await pages.newPage();
    await page.goto(pages.origin.replace('localhost', '127.0.0.1'));
    const seen = await page.evaluate(async ({ base, token }) => {
      const headers = { authorization: `Bearer ${token}` };
      const read = await fetch(`${base}/api/v1/tenant/me`, { headers }).then(
        () => 'read',
        () => 'refused',
      );
      const connected = await new Promise<string>((resolve) => {
        const socket = new WebSocket(`${base.replace('http', 'ws')}/api/v1/ws?token=${token}`);
        socket.onopen = () => resolve('connected');
        socket.onerror = () => resolve('refused');
      });
      return [read, connected];
    }, given());
    expect(seen).to.deep.equal(['refused', 'refused']);
  });
});
