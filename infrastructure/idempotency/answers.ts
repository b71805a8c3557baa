import { z } from 'zod';
import type { StoredAnswer } from '../../application/ports/idempotency-store.ts';

export const storedAnswer = z.object({
  fingerprint: z.string(),
  status: z.number(),
  headers: z.record(z.string(), z.string()),
  body: z.string().nullable(),
});

/** The stored form of an answer, shared by all adapters. */
export const answerText = ({ fingerprint, status, headers, body }: StoredAnswer): string =>
  JSON.stringify({ fingerprint, status, headers, body });

export const parseAnswer = (text: string): StoredAnswer => storedAnswer.parse(JSON.parse(text));
