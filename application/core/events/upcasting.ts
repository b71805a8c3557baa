import type { EventDefinition } from '../../../domain/core/event.ts';

/** A stored event that is not readable, has a type or version unknown to this build, or does not fit its schema. */
export class UndecodableEvent extends Error {
  override readonly name = 'UndecodableEvent';
}

/**
 * Applies the upcasters from version `from` to the event type's current version.
 * @throws {UndecodableEvent} also for a version newer than this build
 */
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
