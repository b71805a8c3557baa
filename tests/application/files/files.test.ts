import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, readdir, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { expect } from 'chai';
import { type RequestContext, uuidFromName } from '../../../application/core/commands/request-context.ts';
import { sweepBlobs } from '../../../application/files/blob-sweep.ts';
import { blobRemover, recordFilesRemover } from '../../../application/files/file-removers.ts';
import { Files } from '../../../application/files/files.ts';
import type { BlobStore } from '../../../application/ports/blob-store.ts';
import { type EventStore, StoreUnavailable } from '../../../application/ports/event-store.ts';
import { decided } from '../../../domain/core/event.ts';
import { PLATFORM } from '../../../domain/core/platform.ts';
import { type RecordEvent, recordStream } from '../../../domain/entities/record.ts';
import { TenantStatusChanged, tenantStream } from '../../../domain/tenancy/tenant.ts';
import { openFolderBlobStore } from '../../../infrastructure/blob-store/folder.ts';
import { systemClock } from '../../../infrastructure/identity/ids.ts';
import { refusalCode, rejection } from '../../support/eventually.ts';
import { faultyEvents } from '../../support/faults.ts';
import { startNode, type TestNode } from '../../support/node.ts';

const HOUR = 3_600_000;
const TENANT = 'acme';
const cause = { actor: { kind: 'user' as const, id: 'ann' }, correlationId: 'c', causationId: 'c' };

const plain = (node: TestNode): RequestContext => ({
  cause: { ...cause, causationId: randomUUID(), correlationId: randomUUID() },
  priorAttempt: undefined,
  newId: () => node.ids.next(),
});

/** The context of a keyed request: every try has the same ids and causation. */
const keyed = (key: string): RequestContext => {
  let ordinal = 0;
  return {
    cause: { ...cause, causationId: uuidFromName(key) },
    priorAttempt: { since: 0 },
    newId: () => {
      ordinal += 1;
      return uuidFromName(`${key}\n${ordinal}`);
    },
  };
};

describe('Files', () => {
  let folder: string;
  let blobs: BlobStore;
  let node: TestNode;
  let files: Files;
  let record: { entityName: string; id: string };

  const filesOn = (events?: EventStore, store = blobs) => {
    const other = events === undefined ? node : startNode({ ...node, clock: systemClock, events });
    return new Files({ ...other, blobs: store });
  };

  const onRecord = (id: string, event: RecordEvent) =>
    node.commands.execute({
      tenantId: TENANT,
      type: recordStream,
      id,
      cause: { ...cause, causationId: randomUUID() },
      decide: () => [event],
    });

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'files-'));
    blobs = await openFolderBlobStore({ path: folder });
    node = startNode({ clock: systemClock });
    files = filesOn();
    await node.commands.execute({
      tenantId: PLATFORM,
      type: tenantStream,
      id: TENANT,
      cause,
      decide: () => decided(TenantStatusChanged, { tenant_id: TENANT, status: 'active' }),
    });
    record = { entityName: 'invoice', id: randomUUID() };
    const { entityName: entity_name, id: record_id } = record;
    await onRecord(record_id, {
      type: 'RecordCreated',
      data: { record_id, entity_name, values: {}, types: {}, schema_revision: 0, created_by: 'ann' },
    });
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('and records of another node are found, although this node cached that they do not exist', async () => {
    const elsewhere = filesOn(node.events);
    const id = randomUUID();
    const { entityName } = record;
    expect(await refusalCode(elsewhere.checkRecord(TENANT, entityName, id))).to.equal('not_found');
    await onRecord(id, {
      type: 'RecordCreated',
      data: {
        record_id: id,
        entity_name: entityName,
        values: {},
        types: {},
        schema_revision: 0,
        created_by: 'ann',
      },
    });
    await elsewhere.checkRecord(TENANT, entityName, id);
    const context = keyed('of another node');
    const fileId = keyed('of another node').newId();
    expect(await refusalCode(elsewhere.open(TENANT, fileId))).to.equal('not_found');
    const { id: attached } = await attach(context);
    expect(attached).to.equal(fileId);
    expect((await elsewhere.open(TENANT, fileId)).file.record_id).to.equal(record.id);
  });

  const deleteRecord = (id = record.id) =>
    onRecord(id, {
      type: 'RecordDeleted',
      data: {
        record_id: id,
        entity_name: record.entityName,
        deletion_id: randomUUID(),
        values: {},
        version: 2,
      },
    });

  const upload = async (content: string | Buffer = 'hello', of = files) => ({
    ...(await of.receive(TENANT, Readable.from([Buffer.from(content)]))),
    filename: '../a\u202e.txt',
    contentType: 'Text/Plain',
  });

  const attach = async (context = plain(node), of = files) => {
    const { file } = await of.attach(TENANT, record, await upload('hello', of), context);
    return { ...file, id: file.file_id };
  };

  const stored = async (): Promise<string[]> => {
    const found: string[] = [];
    for await (const { ref } of blobs.list()) found.push(ref.id);
    return found.sort();
  };

  const content = async (id: string) => String(await buffer(await (await files.open(TENANT, id)).bytes()));

  const eventsOf = (id: string) => node.events.readStream(`${TENANT}.file-${id}`);

  it('keep their bytes under their id with a displayable name', async () => {
    const file = await attach();
    expect(file).to.include({ filename: 'a.txt', content_type: 'text/plain', size: 5 });
    expect(await stored()).to.deep.equal([file.id]);
    expect(await content(file.id)).to.equal('hello');
  });

  it('belong to a record of their entity and tenant', async () => {
    const wrong = await upload();
    const there = { ...record, entityName: 'order' };
    expect(await refusalCode(files.checkRecord(TENANT, 'order', record.id))).to.equal('not_found');
    expect(await refusalCode(files.checkRecord('globex', 'invoice', record.id))).to.equal('not_found');
    expect(await refusalCode(files.checkRecord(TENANT, 'invoice', randomUUID()))).to.equal('not_found');
    expect(await refusalCode(files.attach(TENANT, there, wrong, plain(node)))).to.equal('not_found');
    expect(await stored()).to.deep.equal([]);
    const { id } = await attach();
    expect(await refusalCode(files.open('globex', id))).to.equal('not_found');
    expect(await refusalCode(files.delete('globex', id, plain(node)))).to.equal('not_found');
    expect(await content(id)).to.equal('hello');
  });

  it('are deleted once, with their bytes', async () => {
    const { id } = await attach();
    await files.delete(TENANT, id, plain(node));
    expect(await refusalCode(files.open(TENANT, id))).to.equal('not_found');
    expect(await refusalCode(files.delete(TENANT, id, plain(node)))).to.equal('not_found');
    expect(await stored()).to.deep.equal([]);
    expect((await eventsOf(id)).map(({ type }) => type)).to.deep.equal(['FileUploaded', 'FileDeleted']);
  });

  it('are not found once the deletion of their record starts', async () => {
    const { id } = await attach();
    const data = { record_id: record.id, entity_name: 'invoice', deletion_id: randomUUID() };
    await onRecord(record.id, { type: 'RecordDeletionStarted', data });
    expect(await refusalCode(files.open(TENANT, id))).to.equal('not_found');
    await onRecord(record.id, { type: 'RecordDeletionAbandoned', data });
    expect(await content(id)).to.equal('hello');
  });

  it('are created once by a retried keyed request', async () => {
    const first = await attach(keyed('k'));
    const again = await attach(keyed('k'));
    expect(again).to.deep.equal(first);
    expect(await stored()).to.deep.equal([first.id]);
    expect(await content(first.id)).to.equal('hello');
    expect(await eventsOf(first.id)).to.have.length(1);
  });

  it('stay deleted when the request that created them is retried', async () => {
    const first = await attach(keyed('k'));
    await files.delete(TENANT, first.id, plain(node));
    expect(await attach(keyed('k'))).to.deep.equal(first);
    expect(await stored()).to.deep.equal([]);
    expect(await refusalCode(files.open(TENANT, first.id))).to.equal('not_found');
  });

  it('keep their bytes when the outcome of the append is unknown', async () => {
    const unsure = filesOn(faultyEvents(node.events, ['unavailable after']));
    expect(await rejection(attach(keyed('k'), unsure))).to.be.instanceOf(StoreUnavailable);
    const again = await attach(keyed('k'));
    expect(await content(again.id)).to.equal('hello');
    expect(await eventsOf(again.id)).to.have.length(1);
  });

  it('fail when their bytes do not match the log', async () => {
    const { id } = await attach();
    const file = await files.open(TENANT, id);
    await blobs.put({ tenantId: TENANT, id }, Readable.from([Buffer.from('other bytes')]));
    expect(String(await rejection(file.bytes()))).to.contain('11 bytes instead of 5');
    await blobs.delete({ tenantId: TENANT, id });
    expect(String(await rejection(file.bytes()))).to.contain('missing');
  });

  it('return 404 when deleted between look-up and read', async () => {
    const { id } = await attach();
    const file = await files.open(TENANT, id);
    await files.delete(TENANT, id, plain(node));
    expect(await refusalCode(file.bytes())).to.equal('not_found');
  });

  it('return 404 on a node that does not know their deletion yet', async () => {
    const { id } = await attach();
    const other = new Files({ ...startNode({ ...node, clock: systemClock }), blobs });
    await other.open(TENANT, id);
    await files.delete(TENANT, id, plain(node));
    const opened = other.open(TENANT, id).then((file) => file.bytes());
    expect(await refusalCode(opened)).to.equal('not_found');
  });

  it('can be read to the end when deleted meanwhile', async () => {
    const bytes = randomBytes(500_000);
    const { file } = await files.attach(TENANT, record, await upload(bytes), plain(node));
    const stream = await (await files.open(TENANT, file.file_id)).bytes();
    await files.delete(TENANT, file.file_id, plain(node));
    expect(await buffer(stream)).to.deep.equal(bytes);
  });

  describe('whose request crashed after their deletion’s event', () => {
    it('lose their bytes by the subscriber, also when it runs twice', async () => {
      const failing: BlobStore = { ...blobs, delete: () => Promise.reject(new Error('the process died')) };
      const { id } = await attach();
      await filesOn(undefined, failing).delete(TENANT, id, plain(node));
      expect(await stored()).to.deep.equal([id]);
      const remover = blobRemover({ blobs });
      for (let round = 0; round < 2; round += 1) {
        for (const event of await node.events.readAll({ filter: { types: remover.types } })) {
          await remover.handle(node.codec.decode(event));
        }
      }
      expect(await stored()).to.deep.equal([]);
    });
  });

  describe('of a deleted record', () => {
    const remover = (on = node, known: () => readonly string[] = () => []) =>
      recordFilesRemover({ ...on, filesOfRecord: async () => known() });

    const handleAll = async (subscriber: ReturnType<typeof remover>) => {
      for (const event of await node.events.readAll({ filter: { types: subscriber.types } })) {
        await subscriber.handle(node.codec.decode(event));
      }
    };

    const isDeleted = async (id: string) => (await eventsOf(id)).at(-1)?.type === 'FileDeleted';

    it('are deleted once, also when the deletion’s event is delivered again', async () => {
      const ids = [(await attach()).id, (await attach()).id];
      await deleteRecord();
      const subscriber = remover(node, () => ids);
      await handleAll(subscriber);
      await handleAll(subscriber);
      for (const id of ids) expect(await eventsOf(id)).to.have.length(2);
    });

    it('are deleted when their upload ends after the deletion, also on a node that cached the record', async () => {
      const other = startNode({ ...node, clock: systemClock });
      await other.states.load(TENANT, recordStream, record.id);
      const late = await upload();
      // The record is checked, then it is deleted, then the file is attached.
      const slow = new Files({
        ...startNode({ ...node, clock: systemClock }),
        blobs: {
          ...blobs,
          move: async (...args) => {
            await blobs.move(...args);
            await deleteRecord();
          },
        },
      });
      const { file } = await slow.attach(TENANT, record, late, keyed('late'));
      expect(await isDeleted(file.file_id)).to.equal(false);
      await handleAll(remover(other));
      expect(await isDeleted(file.file_id)).to.equal(true);
      await handleAll(remover(other));
      expect(await eventsOf(file.file_id)).to.have.length(2);
    });

    it('are deleted without the files of other records', async () => {
      const kept = await attach();
      const other = randomUUID();
      await onRecord(other, {
        type: 'RecordCreated',
        data: {
          record_id: other,
          entity_name: 'invoice',
          values: {},
          types: {},
          schema_revision: 0,
          created_by: 'ann',
        },
      });
      await deleteRecord(other);
      await handleAll(remover());
      expect(await isDeleted(kept.id)).to.equal(false);
    });
  });

  describe('of uploads that did not complete', () => {
    const sweep = (at: number, since = 0) =>
      sweepBlobs({ blobs, events: node.events, clock: { now: () => at }, logger: node.logger }, since);

    it('are swept after an hour, and nothing else is', async () => {
      const kept = await attach(keyed('k'));
      const orphan = await upload();
      const deleted = await attach();
      const failing: BlobStore = { ...blobs, delete: () => Promise.reject(new Error('the process died')) };
      await filesOn(undefined, failing).delete(TENANT, deleted.id, plain(node));
      const all = [kept.id, orphan.id, deleted.id].sort();
      await sweep(Date.now() + HOUR - 60_000);
      expect(await stored(), 'too young').to.deep.equal(all);
      await sweep(Date.now() + HOUR + 60_000);
      expect(await stored()).to.deep.equal([kept.id]);
      expect(await content(kept.id)).to.equal('hello');
    });

    it('are not searched again among the files that an earlier sweep has checked', async () => {
      await attach();
      const looked = await sweep(Date.now() + 2 * HOUR);
      const noReads: EventStore = {
        ...node.events,
        readStream: () => Promise.reject(new Error('it was looked at again')),
      };
      const clock = { now: () => Date.now() + 3 * HOUR };
      await sweepBlobs({ blobs, events: noReads, clock, logger: node.logger }, looked);
    });

    it('are kept when their tenant is not in the log, which may be the wrong log', async () => {
      await attach();
      const before = await stored();
      const clock = { now: () => Date.now() + 2 * HOUR };
      const { events } = startNode();
      await sweepBlobs({ blobs, events, clock, logger: node.logger }, 0);
      expect(await stored())
        .to.deep.equal(before)
        .and.to.have.length(1);
    });

    it('are swept when half-written', async () => {
      const source = new Readable({ read: () => undefined });
      source.push(randomBytes(100_000));
      const writing = rejection(files.receive(TENANT, source));
      const incoming = join(folder, '.incoming');
      while ((await readdir(incoming)).length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      const [part = ''] = await readdir(incoming);
      await sweep(Date.now());
      expect(await readdir(incoming)).to.deep.equal([part]);
      const old = new Date(Date.now() - 2 * HOUR);
      await utimes(join(incoming, part), old, old);
      await sweep(Date.now());
      expect(await readdir(incoming)).to.deep.equal([]);
      source.destroy();
      await writing;
    });

    it('are kept when a retried request needs them at that moment', async () => {
      const first = await upload();
      const id = keyed('k').newId();
      // The first try crashed before its event; hours later the sweep finds its bytes while the request is retried.
      await blobs.move({ tenantId: TENANT, id: first.id }, id);
      const old = new Date(Date.now() - 2 * HOUR);
      await utimes(join(folder, TENANT, id.slice(-2), id.slice(-4, -2), id), old, old);
      const racing: EventStore = {
        ...node.events,
        readStream: async (...args) => {
          const found = await node.events.readStream(...args);
          await attach(keyed('k'));
          return found;
        },
      };
      await sweepBlobs({ blobs, events: racing, clock: systemClock, logger: node.logger }, 0);
      expect(await content(id)).to.equal('hello');
    });
  });
});
