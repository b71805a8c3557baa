import type { EventDefinition } from '../../../domain/core/event.ts';

/** An event of a type or version that this build does not know, or whose data its schema refuses. */
export class UndecodableEvent extends Error {
  override readonly name = 'UndecodableEvent';
}

/** @throws {UndecodableEvent} also for a version that only a newer build knows: what it means is not to be guessed */
export const upcasted = (definition: EventDefinition, from: number, data: unknown): unknown => {
  const { type, version, upcasters } = definition;
  if (from > version) throw new UndecodableEvent(`${type} v${from} is newer than this build`);
  let present = data;
  for (let step = from; step < version; step += 1) {
    const upcast = upcasters[step];
    if (upcast === undefined) throw new UndecodableEvent(`${type} v${step} has no upcaster`);
    try {
      present = upcast(present);
    } catch (cause) {
      throw new UndecodableEvent(`${type} v${step} cannot be upcast`, { cause });
    }
  }
  return present;
};
