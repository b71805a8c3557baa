import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Client } from '../../../../client/src/index.ts';
import { toast, useAction, useClient, useConfirm } from '../../kit/index.ts';
import { problemText } from '../../kit/problem.tsx';
import { type Entity, type EntityRecord, titleOf, useEntities } from './schema.ts';

interface Referrers {
  readonly label: string;
  readonly count: number;
  readonly effect: 'restrict' | 'clear' | 'cascade';
}

/** Counts the records that refer to a record directly. */
const referrersOf = async (
  client: Client,
  entities: readonly Entity[],
  name: string,
  id: string,
): Promise<readonly Referrers[]> => {
  const fields = entities.flatMap((entity) =>
    entity.fields.flatMap(({ key, label, reference }) =>
      reference?.entity_name === name ? [{ entity, key, label, effect: reference.on_delete }] : [],
    ),
  );
  const counted = await Promise.all(
    fields.map(async ({ entity, key, label, effect }) => {
      const filter = `${key} == ${JSON.stringify(id)}`;
      const params = { path: { name: entity.name }, query: { filter, count: 'true' as const, limit: 1 } };
      const count = await client.count('/api/v1/tenant/entities/{name}/records', { params });
      return { label: `${entity.label} (${label})`, count: count ?? Number.NaN, effect };
    }),
  );
  return counted.filter(({ count }) => count !== 0);
};

const countText = (count: number): string => (Number.isNaN(count) ? 'Many' : count.toLocaleString());

const sentenceOf = ({ label, count, effect }: Referrers): string => {
  const which = `${countText(count)} of ${label}`;
  switch (effect) {
    case 'restrict':
      return `${which} refer to it and must be deleted first; until then the deletion is refused.`;
    case 'clear':
      return `${which} refer to it: their field is emptied.`;
    case 'cascade':
      return `${which} are deleted with it, and the records that are deleted with those.`;
    default:
      return effect satisfies never;
  }
};

/** Asks before a record is deleted, and names the records that the deletion affects. */
export const useDeletion = (entity: Entity, record: EntityRecord, onDone: () => void) => {
  const confirm = useConfirm();
  const client = useClient();
  const queries = useQueryClient();
  const entities = useEntities();
  const [isAsking, setAsking] = useState(false);
  const remove = useAction(
    (own) =>
      own.delete('/api/v1/tenant/entities/{name}/records/{id}', {
        params: { path: { name: entity.name, id: record.id }, header: { 'If-Match': `"${record.version}"` } },
      }),
    { invalidates: [['records']], done: 'The record was deleted.' },
  );
  const ask = async (): Promise<void> => {
    setAsking(true);
    try {
      const all = entities.data ?? (await entities.refetch({ throwOnError: true })).data ?? [];
      const referrers = await referrersOf(client, all, entity.name, record.id);
      confirm({
        title: `Delete ${titleOf(entity.fields, record)}?`,
        consequence: [
          `Its values, notes and files disappear from every list${record.job_id === null ? '' : ', and its job ends'}. The log keeps its events.`,
          referrers.length === 0 ? 'Nothing refers to it.' : referrers.map(sentenceOf).join(' '),
        ].join(' '),
        action: 'Delete record',
        run: async () => {
          await remove.mutateAsync().catch((error: unknown) => {
            // The page behind the dialogue then shows the changes of other people, and the next deletion names them.
            void queries.invalidateQueries({ queryKey: ['record', entity.name] });
            throw error;
          });
          onDone();
        },
      });
    } catch (error) {
      toast(problemText(error), 'danger');
    } finally {
      setAsking(false);
    }
  };
  return { ask, isAsking };
};
