import { z } from 'zod';
import { entitle, MODEL } from '../../e2e/assistant/support.ts';
import { upload } from '../uploads.ts';
import { startWorld, type World } from '../world.ts';
import type { Example } from './record.ts';
import { settled } from './settled.ts';

/** Examples of a running server: threads and files are not on virtual time. */

const withId = z.looseObject({ id: z.string() });
const V1 = '/api/v1/tenant';

const rounded = (text: string): unknown =>
  JSON.parse(text, (key, part) => (key === 'score' ? Math.round(part * 100) / 100 : part));

export const startServedWorld = (): Promise<World> => startWorld({ env: MODEL });

/** A tenant gets the assistant, brings a record and a file into the corpus, asks, and takes the proof of its log. */
export const recordServed = async (world: World): Promise<Record<string, Example>> => {
  const tenant = await world.tenant();
  const { api } = tenant.admin;
  const fields = [
    { key: 'title', label: 'Title', type: 'text', required: true },
    { key: 'findings', label: 'Findings', type: 'long_text' },
  ];
  await api.post(`${V1}/entities`, { name: 'repair', label: 'Repair', fields });
  const values = {
    title: 'Pump 4 leaks',
    findings: 'The seal of the pump is worn. A new one comes on Friday.',
  };
  const record = (await api.post(`${V1}/entities/repair/records`, { values })).as(withId, 201);
  const warranty = 'Warranty of pump 4: until December 2027.';
  await upload(api, { entity: 'repair', id: record.id }, warranty, { filename: 'warranty.txt' });
  await entitle(world, tenant);
  const backfill = await api.post(`${V1}/rag/backfill`);
  const body = { message: 'When does the new seal for pump 4 come?' };
  const ask = await api.post(`${V1}/ai/assistant/ask`, body);
  const proof = await api.get(`${V1}/audit/proof`);
  const lines = await api.get(`${V1}/audit/proof`, { headers: { accept: 'application/x-ndjson' } });
  const shown = (text: string): string => settled(text.replaceAll(tenant.id, 'workshop'));
  const [head, first] = shown(lines.text).split('\n');
  return {
    askAssistant: { body, answers: { [ask.status]: rounded(shown(ask.text)) } },
    backfillCorpus: { answers: { [backfill.status]: backfill.json } },
    getAuditProof: {
      answers: {
        [proof.status]: rounded(shown(proof.text)),
        [`${lines.status} application/x-ndjson`]: `${head}\n${first}\n`,
      },
    },
  };
};
