import createClient from 'openapi-fetch';
import type { paths } from './generated/openapi-typescript';

declare const process: { argv: string[]; stdout: { write(text: string): void } };

/** Arguments: the server, a token, the id of a person to write to. Prints the id of the message. */
const main = async ([baseUrl = '', token = '', userId = '']: string[]): Promise<void> => {
  const client = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${token}` } });
  const started = await client.POST('/api/v1/tenant/messaging/conversations', {
    body: { participant_user_ids: [userId] },
  });
  if (started.data === undefined) throw new Error(started.error.error);
  const sent = await client.POST('/api/v1/tenant/messaging/conversations/{id}/messages', {
    params: { path: { id: started.data.id } },
    body: { body: 'Hello' },
  });
  if (sent.data === undefined) throw new Error(sent.error.error);
  process.stdout.write(sent.data.id);
};

void main(process.argv.slice(2));
