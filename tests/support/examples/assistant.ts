import { z } from 'zod';
import { entitle, MODEL } from '../../e2e/assistant/support.ts';
import { upload } from '../uploads.ts';
import { startWorld, type World } from '../world.ts';
import type { Example } from './record.ts';

/** Its model runs in a thread, which virtual time does not reach: these examples are of a server. */

const withId = z.looseObject({ id: z.string() });
const V1 = '/api/v1/tenant';
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** The same ids in each run, in the order of their appearance, and scores of two decimals. */
const settled = (value: unknown): unknown => {
  const seen: string[] = [];
  const text = JSON.stringify(value).replace(UUID, (id) => {
    if (!seen.includes(id)) seen.push(id);
    return `01a20e0d-0000-7000-8000-${String(seen.indexOf(id) + 1).padStart(12, '0')}`;
  });
  return JSON.parse(text, (key, part) => (key === 'score' ? Math.round(part * 100) / 100 : part));
};

export const startAssistantWorld = (): Promise<World> => startWorld({ env: MODEL });

/** A tenant gets the assistant, brings a record and a file into the corpus, and asks. */
export const recordAssistant = async (world: World): Promise<Record<string, Example>> => {
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
  return {
    askAssistant: { body, answers: { [ask.status]: settled(ask.json) } },
    backfillCorpus: { answers: { [backfill.status]: backfill.json } },
  };
};
