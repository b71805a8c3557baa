import { createHash } from 'node:crypto';
import { z } from 'zod';
import { eventsOf, type Fact } from '../log.ts';
import { Upload } from '../network.ts';
import {
  type Actor,
  type Area,
  type Choice,
  type Context,
  PerTenant,
  prepared,
  type Report,
  type Tenant,
  V1,
  withId,
} from './area.ts';

const RECORDS = `${V1}/entities/folder/records`;
const uploaded = z.looseObject({ file_id: z.string(), record_id: z.string(), sha256: z.string() });

/** Files of records, which are deleted with their record. */
export class Files implements Area {
  readonly name = 'files';
  readonly #context: Context;
  readonly #folders = new PerTenant<string>();
  readonly #files = new PerTenant<string>();

  constructor(context: Context) {
    this.#context = context;
  }

  async prepare({ admin: { client } }: Tenant): Promise<void> {
    const fields = [{ key: 'title', label: 'Title', type: 'text', required: false }];
    await prepared(client, `${V1}/entities`, { name: 'folder', label: 'Folder', fields });
  }

  actions(tenant: Tenant, { client }: Actor): readonly Choice[] {
    const { dice, requests } = this.#context;
    const [folders, files] = [this.#folders.of(tenant), this.#files.of(tenant)];
    return [
      [
        folders.length < 3 ? 2 : 0,
        async () => {
          const values = { title: `folder ${requests.length}` };
          const created = { what: 'create folder', event: 'RecordCreated' };
          const reply = await client.write('POST', RECORDS, { values }, created);
          if (reply?.status === 201) folders.push(withId.parse(reply.body).id);
        },
      ],
      [
        folders.length > 0 ? 2 : 0,
        async () => {
          const file = new Upload(
            `${requests.length}.txt`,
            'line of the file\n'.repeat(dice.between(0, 200)),
          );
          const path = `${RECORDS}/${dice.pick(folders)}/files`;
          const reply = await client.write('POST', path, file, { what: 'upload', event: 'FileUploaded' });
          if (reply?.status === 201) files.push(withId.parse(reply.body).id);
        },
      ],
      [
        files.length > 0 ? 1 : 0,
        async () => {
          await client.write('DELETE', `${V1}/files/${dice.pick(files)}`, undefined, { what: 'delete file' });
        },
      ],
      [
        folders.length > 1 ? 0.3 : 0,
        async () => {
          const [folder] = folders.splice(dice.between(0, folders.length - 1), 1);
          await client.write('DELETE', `${RECORDS}/${folder}`, undefined, { what: 'delete folder' });
        },
      ],
    ];
  }

  /** A file in the log can be downloaded unchanged, until the file or its record is deleted: then the answer is 404. */
  async check(log: readonly Fact[], report: Report): Promise<void> {
    for (const tenant of this.#context.tenants) {
      const gone = new Set(
        eventsOf(log, tenant, 'FileDeleted', 'RecordDeleted').map(({ type, facts }) =>
          String(type === 'FileDeleted' ? facts.file_id : facts.record_id),
        ),
      );
      for (const { facts } of eventsOf(log, tenant, 'FileUploaded')) {
        const { file_id: id, record_id: record, sha256 } = uploaded.parse(facts);
        const { status, body } = await tenant.admin.client.get(`${V1}/files/${id}/content`);
        const isGone = gone.has(id) || gone.has(record);
        if (status !== (isGone ? 404 : 200))
          report(`${id}, ${isGone ? 'deleted' : 'kept'}, answers ${status}`);
        if (status === 200 && createHash('sha256').update(String(body)).digest('hex') !== sha256)
          report(`${id} has other bytes than were uploaded`);
      }
    }
  }
}
