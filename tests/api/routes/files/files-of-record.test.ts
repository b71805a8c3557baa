import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { filesOfRecord } from '../../../../api/compose/files.ts';
import type { Position } from '../../../../application/ports/event-store.ts';
import { DomainError } from '../../../../domain/core/errors.ts';
import { attachFile, fileStream } from '../../../../domain/files/file.ts';
import { startNode } from '../../../support/node.ts';

describe('The files of a record', () => {
  const stopped = {
    waitFor: () => Promise.reject(new DomainError('read_model_behind', 'It has stopped for this tenant.')),
    reader: () => ({ find: () => Promise.reject(new Error('it was read')) }),
  };

  it('are read from the log, up to the given position, when the read model has stopped', async () => {
    const node = startNode();
    const attach = async (
      tenantId: string,
      recordId: string,
    ): Promise<{ id: string; position: Position }> => {
      const id = randomUUID();
      const { position } = await node.commands.execute({
        tenantId,
        type: fileStream,
        id,
        cause: { actor: { kind: 'user', id: 'ann' }, correlationId: 'c', causationId: id },
        decide: (state) =>
          attachFile(state, {
            file_id: id,
            record_id: recordId,
            entity_name: 'invoice',
            filename: 'a',
            content_type: 'text/plain',
            size: 0,
            sha256: '',
          }),
      });
      if (position === undefined) throw new Error('nothing was appended');
      return { id, position };
    };
    const wanted = [await attach('acme', 'r1')];
    await attach('acme', 'r2');
    await attach('acmeo', 'r1');
    for (let i = 0; i < 1200; i += 1) wanted.push(await attach('acme', 'r1'));
    const until = wanted.at(-1)?.position;
    if (until === undefined) throw new Error('nothing');
    await attach('acme', 'r1');
    const find = filesOfRecord({ readModels: stopped, stores: node, codec: node.codec });
    expect(await find('acme', 'r1', until)).to.deep.equal(wanted.map(({ id }) => id));
  });
});
