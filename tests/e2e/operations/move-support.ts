import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { z } from 'zod';
import { NDJSON } from '../../../api/http/ndjson.ts';
import { MAIN } from '../../support/admin-cli.ts';
import { OF_CHILDREN } from '../../support/server.ts';
import { users } from '../../support/shapes.ts';
import { allMessages } from '../../support/unread-model.ts';
import { download } from '../../support/uploads.ts';
import { NOTIFICATIONS, USERS, type World } from '../../support/world.ts';
import type { Filled } from './support.ts';

/** The commands in docs/stores.md under a marker, verbatim. */
export const blocksOf = (marker: 'move' | 'back'): string[] =>
  [
    ...readFileSync('docs/stores.md', 'utf8').matchAll(
      new RegExp(`<!-- ${marker} -->\\n *\`\`\`sh\\n([\\s\\S]*?)\`\`\``, 'g'),
    ),
  ].map(([, text = '']) => text);

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs commands of the page in one shell, with the test's paths and addresses instead of the page's. */
export const runAsWritten = (
  blocks: readonly string[],
  places: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string>>,
): Promise<Ran> =>
  new Promise((resolve, reject) => {
    const script = Object.entries(places)
      // Replaces longer paths first, since a longer path may begin with a shorter one.
      .toSorted(([a], [b]) => b.length - a.length)
      .reduce((text, [from, to]) => text.replaceAll(from, to), blocks.join('\n'))
      .replaceAll('npm run -s admin --', `${process.execPath} ${MAIN}`);
    const child = spawn('bash', ['-c', `set -eu\n${script}`], { env: { ...OF_CHILDREN, ...env } });
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, stdout, stderr }));
  });

const EVENTS = '/api/v1/tenant/audit/events';
const PROOF = '/api/v1/tenant/audit/proof';

/** The tenant's audit export, with positions. */
export const exportedLines = async ({ tenant }: Filled, after = ''): Promise<string> => {
  const answer = await tenant.admin.api.get(`${EVENTS}${after}`, { headers: { accept: NDJSON } });
  expect(answer.status).to.equal(200);
  return answer.text;
};

export const proofOf = async ({ tenant }: Filled): Promise<string> =>
  (await tenant.admin.api.get(PROOF, { headers: { accept: NDJSON } })).text;

export const publicKeyIn = (proof: string): string =>
  z.looseObject({ public_key: z.string() }).parse(JSON.parse(proof.split('\n')[0] ?? '')).public_key;

/** All data of a filled tenant that people can read. */
export const seen = async (world: World, made: Filled) => {
  const { tenant, ada, ben, chat, file } = made;
  const { status, bytes } = await download(world.server, tenant.admin.token, file.id);
  return {
    messages: await allMessages(ada, chat),
    notifications: (await ben.api.get(`${NOTIFICATIONS}?limit=50`)).json,
    unread: (await ben.api.get(`${NOTIFICATIONS}/unread-count`)).json,
    users: (await tenant.admin.api.get(`${USERS}?limit=200`)).as(users),
    file: [status, bytes.toString()],
    state: (await tenant.admin.api.get(`/api/v1/tenant/audit/streams/${tenant.id}.user-${ada.id}/state`))
      .json,
  };
};
