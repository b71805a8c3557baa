import type { Socket } from 'node:net';
import { BSON } from 'mongodb';

/** The parts of MongoDB's wire protocol that a proxy needs. */

type Document = BSON.Document;

const OP_REPLY = 1;
const OP_QUERY = 2004;
const OP_MSG = 2013;

export interface WireMessage {
  readonly requestId: number;
  readonly responseTo: number;
  readonly opCode: number;
  readonly body: Document;
}

/** Parses BSON, and keeps the types of numbers. */
const parse = (bytes: Buffer): Document => BSON.deserialize(bytes, { promoteValues: false });

/** Yields the complete messages of a connection. */
export async function* messagesOf(socket: Socket): AsyncGenerator<WireMessage> {
  let rest = Buffer.alloc(0);
  for await (const chunk of socket) {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 4 && rest.length >= rest.readInt32LE(0)) {
      const length = rest.readInt32LE(0);
      yield decode(rest.subarray(0, length));
      rest = rest.subarray(length);
    }
  }
}

function decode(bytes: Buffer): WireMessage {
  const [requestId, responseTo, opCode] = [bytes.readInt32LE(4), bytes.readInt32LE(8), bytes.readInt32LE(12)];
  if (opCode === OP_MSG) return { requestId, responseTo, opCode, body: sections(bytes) };
  if (opCode === OP_REPLY) return { requestId, responseTo, opCode, body: parse(bytes.subarray(36)) };
  if (opCode !== OP_QUERY) throw new Error(`no message of type ${opCode}`);
  const nameEnd = bytes.indexOf(0, 20);
  return { requestId, responseTo, opCode, body: parse(bytes.subarray(nameEnd + 9)) };
}

function sections(bytes: Buffer): Document {
  let body: Document = {};
  const lists: Document = {};
  for (let at = 20; at < bytes.length; ) {
    const size = bytes.readInt32LE(at + 1);
    const section = bytes.subarray(at + 1, at + 1 + size);
    if (bytes[at] === 0) body = parse(section);
    else {
      const nameEnd = section.indexOf(0, 4);
      const list: Document[] = [];
      for (let from = nameEnd + 1; from < section.length; from += section.readInt32LE(from)) {
        list.push(parse(section.subarray(from, from + section.readInt32LE(from))));
      }
      lists[section.toString('utf8', 4, nameEnd)] = list;
    }
    at += 1 + size;
  }
  return { ...body, ...lists };
}

export function request(requestId: number, body: Document): Buffer {
  return message(requestId, 0, OP_MSG, Buffer.from([0, 0, 0, 0, 0]), body);
}

/** Encodes an answer in the request's format. */
export function answer({ requestId, opCode }: WireMessage, body: Document): Buffer {
  if (opCode === OP_MSG) return message(0, requestId, OP_MSG, Buffer.from([0, 0, 0, 0, 0]), body);
  const flags = Buffer.alloc(20);
  flags.writeInt32LE(8, 0);
  flags.writeInt32LE(1, 16);
  return message(0, requestId, OP_REPLY, flags, body);
}

function message(
  requestId: number,
  responseTo: number,
  opCode: number,
  flags: Buffer,
  body: Document,
): Buffer {
  const document = BSON.serialize(body);
  const header = Buffer.alloc(16);
  header.writeInt32LE(16 + flags.length + document.length, 0);
  header.writeInt32LE(requestId, 4);
  header.writeInt32LE(responseTo, 8);
  header.writeInt32LE(opCode, 12);
  return Buffer.concat([header, flags, document]);
}
