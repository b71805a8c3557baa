import { createSocket } from 'node:dgram';
import { once } from 'node:events';

/** A DNS server on this machine with records that tests set (RFC 1035). */

export interface Zone {
  /** IPv4 and IPv6 addresses; an empty list is a name without addresses. */
  readonly addresses?: readonly string[];
  /** Aliases (CNAME) before the addresses. */
  readonly aliases?: readonly string[];
  /** 2 means server failure, 3 means that the name does not exist. */
  readonly status?: number;
  readonly silent?: boolean;
}

const A = 1;
const CNAME = 5;
const AAAA = 28;

const nameBytes = (name: string): Buffer =>
  Buffer.concat([
    ...name.split('.').map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)])),
    Buffer.from([0]),
  ]);

const record = (name: string, type: number, data: Buffer): Buffer => {
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(type, 0);
  fixed.writeUInt16BE(1, 2);
  fixed.writeUInt16BE(data.length, 8);
  return Buffer.concat([nameBytes(name), fixed, data]);
};

const ipv6Bytes = (address: string): Buffer => {
  const [head = '', tail] = address.split('::');
  const groups = (text: string): number[] =>
    text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
  const left = groups(head);
  const right = tail === undefined ? [] : groups(tail);
  const all = [...left, ...new Array<number>(8 - left.length - right.length).fill(0), ...right];
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 255]));
};

export const startNameServer = async (zoneOf: (name: string) => Zone) => {
  const asked: string[] = [];
  const socket = createSocket('udp4');
  socket.on('message', (question, from) => {
    const labels: string[] = [];
    let at = 12;
    for (let length = question[at] ?? 0; length > 0; length = question[at] ?? 0) {
      labels.push(question.subarray(at + 1, at + 1 + length).toString());
      at += length + 1;
    }
    const name = labels.join('.').toLowerCase();
    const type = question.readUInt16BE(at + 1);
    asked.push(`${name} ${type === A ? 'A' : type === AAAA ? 'AAAA' : type}`);
    const { addresses = [], aliases = [], status = 0, silent = false } = zoneOf(name);
    if (silent) return;
    const chain = [name, ...aliases];
    const last = chain.at(-1) ?? name;
    const records = [
      ...aliases.map((alias, index) => record(chain[index] ?? name, CNAME, nameBytes(alias))),
      ...addresses
        .filter((address) => address.includes(':') === (type === AAAA))
        .map((address) =>
          record(
            last,
            type,
            type === AAAA ? ipv6Bytes(address) : Buffer.from(address.split('.').map(Number)),
          ),
        ),
    ];
    const head = Buffer.alloc(12);
    question.copy(head, 0, 0, 2);
    head.writeUInt16BE(0x8180 | status, 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(records.length, 6);
    socket.send(Buffer.concat([head, question.subarray(12, at + 5), ...records]), from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked,
    stop: (): Promise<void> => new Promise((resolve) => socket.close(() => resolve())),
  };
};
