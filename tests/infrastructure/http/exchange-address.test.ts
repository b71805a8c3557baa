import { networkInterfaces } from 'node:os';
import { expect } from 'chai';
import { addressesOfMachine } from '../../../infrastructure/http/addresses.ts';
import { guardedHttp } from '../../../infrastructure/http/guarded-http.ts';
import { isPinned, openPinned } from '../../../infrastructure/http/pinned-socket.ts';
import { rejection, severalTicks } from '../../support/eventually.ts';
import { answered, CALL, call, HEAD, rawServer, stopServers } from './exchange-support.ts';

after(stopServers);

describe('The address of an exchange', () => {
  it('is checked at every call, so a name that moved to an internal address is refused', async () => {
    const server = await rawServer(`${HEAD}\r\n`);
    const answers = [['93.184.215.14'], ['127.0.0.1'], ['93.184.215.14', '127.0.0.1']];
    let asked = 0;
    const resolve = async () => answers[asked++] ?? ['169.254.169.254'];
    const http = guardedHttp({ allowedNetworks: [], allowHttp: true, resolve });
    const url = `http://hooks.example:${server.port}/`;
    expect(await http.check(url)).to.deep.equal({ ok: true });
    for (let round = 0; round < 3; round += 1) {
      const answer = await http.request({ ...CALL, url });
      expect(answer).to.include({ kind: 'refused', reason: 'resolved_address' });
    }
    expect(asked).to.equal(4);
    expect(server.heard).to.deep.equal([]);
  });

  it('is the checked address, even if the name has moved since', async () => {
    const outside = await rawServer(`${HEAD}Content-Length: 3\r\n\r\nout`);
    let asked = 0;
    // The first look-up gives an allowed address, each later look-up a refused one.
    const resolve = async () => (asked++ === 0 ? ['127.0.0.1'] : ['10.0.0.1']);
    const answer = answered(await call(`http://hooks.example:${outside.port}/`, {}, { resolve }));
    expect(answer.body.toString()).to.equal('out');
    expect(asked).to.equal(1);
  });

  it('is verified again once connected', async () => {
    expect(isPinned('127.0.0.1', ['127.0.0.1'])).to.equal(true);
    expect(isPinned('2606:2800:0:0::1', ['10.0.0.1', '2606:2800::1'])).to.equal(true);
    for (const reached of [undefined, '', '127.0.0.2', '::1', '::ffff:127.0.0.1', '127.0.0.1%lo', '127.1']) {
      expect(isPinned(reached, ['127.0.0.1']), reached).to.equal(false);
    }
    // A host in the form of an address is used without a look-up, so that any other address is refused.
    const server = await rawServer('');
    const target = { host: '127.0.0.1', addresses: ['93.184.215.14'], port: server.port, tls: false };
    const opening = openPinned({ ...target, authorities: undefined }, new AbortController().signal);
    expect(await rejection(opening)).to.be.instanceOf(Error);
    await severalTicks();
    expect(server.heard).to.deep.equal([]);
  });

  it('is never one of this machine’s own', async () => {
    const own = Object.values(networkInterfaces()).flatMap((found) => found ?? []);
    expect(addressesOfMachine()).to.have.members(own.map(({ address }) => address));
    const http = guardedHttp({ allowedNetworks: [], allowHttp: true });
    for (const { address, family } of own.filter((found) => !found.address.startsWith('fe80'))) {
      const host = family === 'IPv6' ? `[${address}]` : address;
      const answer = await http.request({ ...CALL, url: `http://${host}:8080/` });
      expect(answer, host).to.include({ kind: 'refused', reason: 'literal_address' });
    }
    // Pretends that a public address is this machine's.
    const ownAddresses = () => ['93.184.215.14', '2606:2800:0:0:0:0:0:1'];
    const options = { allowedNetworks: [], ownAddresses, resolve: async () => ['93.184.215.14'] };
    for (const [url, reason] of [
      ['https://93.184.215.14/', 'literal_address'],
      ['https://[2606:2800::1]/', 'literal_address'],
      ['https://hooks.example/', 'resolved_address'],
    ] as const) {
      expect(await call(url, {}, options), url).to.include({ kind: 'refused', reason });
    }
  });
});
