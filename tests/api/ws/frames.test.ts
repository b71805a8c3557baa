import { expect } from 'chai';
import { untilPasses } from '../../support/eventually.ts';
import { memoryStores } from '../../support/node.ts';
import { startSocketNode } from '../../support/socket-node.ts';

const MIB = 1024 * 1024;
/** A masked text frame without a payload. */
const EMPTY = Buffer.from([0x81, 0x80, 0, 0, 0, 0]);

describe('Frames of a client', () => {
  it('are read in slices, since parsing many small ones takes long', async () => {
    const here = await startSocketNode(memoryStores());
    try {
      await here.connect('acme', 'ann');
      const [connection] = here.connections;
      if (connection === undefined) throw new Error('no connection');
      const socket = await here.connect('acme', 'bob');
      const reader = [...here.connections].find((each) => each !== connection) ?? connection;
      let most = 0;
      let before = reader.bytesRead;
      let isWatching = true;
      const watch = (): void => {
        most = Math.max(most, reader.bytesRead - before);
        before = reader.bytesRead;
        if (isWatching) setImmediate(watch);
      };
      watch();
      const sent = Buffer.alloc(4 * MIB - ((4 * MIB) % EMPTY.length), EMPTY);
      const wanted = before + sent.length;
      (socket.raw as unknown as { _socket: NodeJS.WritableStream })._socket.write(sent);
      await untilPasses(() => expect(reader.bytesRead).to.equal(wanted));
      isWatching = false;
      expect(most).to.be.within(1, MIB / 4);
      expect(socket.raw.readyState).to.equal(socket.raw.OPEN);
    } finally {
      await here.end();
    }
  });
});
