import { z } from 'zod';
import { SOURCE_KINDS } from '../../application/ports/corpus-store.ts';

/** Schemas of rows read from either store. */
export const kindSchema = z.enum(SOURCE_KINDS);
export const countsSchema = z.object({ added: z.number(), updated: z.number(), skipped: z.number() });
