import { Redirect } from 'wouter';
import type { Client } from '../../../../client/src/index.ts';
import { Card, Empty, Page, Pending, useRead } from '../../kit/index.ts';
import { allEntities, recordPath } from './schema.ts';

/** Concurrent requests, one for each entity. */
const AT_ONCE = 6;

const holds = async (client: Client, name: string, id: string): Promise<boolean> => {
  const found = await client.get('/api/v1/tenant/entities/{name}/records', {
    params: { path: { name }, query: { filter: `id == ${JSON.stringify(id)}`, limit: 1 } },
  });
  return found.length > 0;
};

/** Finds the entity of a record by its id, for links of notifications and streams. */
export const ById = ({ id }: { id: string }) => {
  const found = useRead(['record', 'by-id', id], async (client) => {
    // Read anew: the record's entity may have been defined a moment ago.
    const names = (await allEntities(client)).map(({ name }) => name);
    for (let from = 0; from < names.length; from += AT_ONCE) {
      const part = names.slice(from, from + AT_ONCE);
      const answers = await Promise.all(part.map((name) => holds(client, name, id)));
      const name = part[answers.indexOf(true)];
      if (name !== undefined) return { name };
    }
    return { name: undefined };
  });
  if (found.data?.name !== undefined) return <Redirect to={recordPath(found.data.name, id)} replace />;
  return (
    <Page title="Record" crumbs={[['/records', 'Records']]}>
      <Card>
        {found.data === undefined ? (
          <Pending of={[found]} what="the record" />
        ) : (
          <Empty title="No such record">
            <p>It was deleted or never existed.</p>
          </Empty>
        )}
      </Card>
    </Page>
  );
};
