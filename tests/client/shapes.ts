import { z } from 'zod';

export const id = z.looseObject({ id: z.string() });
