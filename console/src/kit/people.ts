import type { components } from '../../../client/src/index.ts';
import { type Read, useRead } from './reads.ts';

export type Person = components['schemas']['User'];

/** Maximum number of people that are read; others are shown by id and cannot be chosen. */
const MOST = 2000;

/** The people of the tenant, for names and choices. */
export const usePeople = (): Read<readonly Person[]> =>
  useRead(
    ['users', 'all'],
    async (client) => {
      const people: Person[] = [];
      for await (const person of client.items('/api/v1/tenant/users', {
        params: { query: { limit: 200 } },
      })) {
        people.push(person);
        if (people.length >= MOST) break;
      }
      return people;
    },
    { stale: 60_000 },
  );

/** The name of a person by id; the id where the name is not known. */
export const useNames = (): ((id: string) => string) => {
  const { data } = usePeople();
  const names = new Map(data?.map(({ id, display_name }) => [id, display_name]));
  return (id) => names.get(id) ?? id;
};
