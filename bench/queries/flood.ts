import { z } from 'zod';
import { type Child, startChild } from '../http/child.ts';
import { closedLoop, requestBytes } from '../http/load.ts';
import { inFolder, startPlatformChild } from '../http/platform.ts';
import { tenantToken } from '../http/tokens.ts';
import { count, type Line, milliseconds, perSecond } from '../report.ts';
import { percentile } from '../rounds.ts';
import { contextOf, createTenant, NONE, withUseCases } from '../use-cases.ts';

const TENANT = 'bench';
const ENTITY = 'crate';
const CONNECTIONS = 64;
const MOST_MS = 1_000;
const OPEN = { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8', WEBHOOK_ALLOW_HTTP: '1' };

/**
 * Creates records over 64 connections, each record with a webhook delivery. Measures how long deliveries wait
 * meanwhile, and how many are left over.
 */
export const benchFlood = async (scale: number): Promise<Line[]> => {
  const receiver = await startChild('http/receiver.ts', '/');
  try {
    return await inFolder(async (folder) => {
      await prepare(folder, `http://127.0.0.1:${receiver.port}/hook`);
      const platform = await startPlatformChild(folder, OPEN);
      try {
        return await flood(platform, receiver, Math.max(1, 8 * scale));
      } finally {
        await platform.stop();
      }
    });
  } finally {
    await receiver.stop();
  }
};

const flood = async (platform: Child, receiver: Child, seconds: number): Promise<Line[]> => {
  const token = tenantToken(TENANT, 'ann');
  const path = `/api/v1/tenant/entities/${ENTITY}/records`;
  const body = { values: { title: 'A crate of an ordinary size' } };
  const post = requestBytes('POST', path, { token, body });
  const load = (of: number) =>
    closedLoop({
      port: platform.port,
      requests: Array.from({ length: CONNECTIONS }, () => [post]),
      seconds: of,
      expectedStatus: 201,
    });
  await load(0.5);
  await settled(receiver);
  const began = performance.now();
  const posts = await load(seconds);
  const took = (performance.now() - began) / 1000;
  const meanwhile = await timesOf(receiver);
  const rest = await settled(receiver);
  return [
    { figure: `POST record with a webhook, ${CONNECTIONS} connections`, value: perSecond(posts) },
    {
      figure: '… deliveries meanwhile',
      value: perSecond(meanwhile.length / took),
      yardstick: { name: 'posts', value: perSecond(posts) },
    },
    {
      figure: '… from the event to the receiver, p99',
      value: milliseconds(percentile([...meanwhile, ...rest], 0.99)),
      target: { text: `≤ ${MOST_MS} ms`, met: percentile([...meanwhile, ...rest], 0.99) <= MOST_MS },
    },
    { figure: '… left over at the end', value: count(rest.length) },
  ];
};

const timesOf = async (receiver: Child): Promise<number[]> =>
  z.array(z.number()).parse(await (await fetch(`http://127.0.0.1:${receiver.port}/times`)).json());

/** Collects arrivals until none comes for a second. */
const settled = async (receiver: Child): Promise<number[]> => {
  const all: number[] = [];
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const some = await timesOf(receiver);
    if (some.length === 0) return all;
    for (const each of some) all.push(each);
  }
};

const prepare = (folder: string, url: string): Promise<void> =>
  withUseCases(
    folder,
    async (useCases) => {
      await createTenant(useCases, TENANT, { entitlements: NONE });
      await useCases.authentication.authenticate(tenantToken(TENANT, 'ann'), 'tenant');
      const fields = [{ key: 'title', label: 'Title', type: 'text', required: true }] as const;
      await useCases.schemas.define(
        TENANT,
        { name: ENTITY, label: 'Crate', fields: [...fields] },
        contextOf('ann'),
      );
      const wanted = { url, events: ['entity.created' as const], description: '' };
      await useCases.webhooks.create(TENANT, wanted, 'enterprise', contextOf('ann'));
    },
    OPEN,
  );
