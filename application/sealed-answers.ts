import type { KeyRing } from './sealing.ts';

/**
 * Stored answers of keyed requests. An answer is sealed with the data key of each personal text it holds, one over
 * the other: when any of these texts is erased, the whole answer is.
 */
export const sealedAnswers = (
  keys: KeyRing,
): {
  store(body: unknown, personal: readonly string[]): Promise<string>;
  restore(text: string): Promise<unknown>;
} => ({
  store: async (body, personal) => {
    await keys.load(personal);
    let text = JSON.stringify(body);
    for (const id of personal) text = keys.seal(id, text);
    return JSON.stringify({ layers: personal.length, text });
  },
  restore: async (stored) => {
    const { layers, text }: { layers: number; text: string } = JSON.parse(stored);
    let opened: string | undefined = text;
    for (let layer = 0; layer < layers && opened !== undefined; layer += 1) opened = await keys.open(opened);
    return opened === undefined ? undefined : JSON.parse(opened);
  },
});
