import type { z } from 'zod';

/**
 * An event type is a value: its schema gives the TypeScript type, the validation at the store's boundary, the
 * catalogue in `docs/events.md` and the fields to seal.
 */
export interface EventDefinition<Type extends string = string, Schema extends z.ZodType = z.ZodType> {
  readonly type: Type;
  /** Grows when the shape changes; an upcaster leads from each older version to the next. */
  readonly version: number;
  readonly schema: Schema;
  /**
   * Personal texts: field name → the data key that seals it, as `<kind>-<id>` within the tenant. Outside the
   * codec such a field holds the sealed form; only a new event, as decided, holds the text.
   */
  readonly personal: Readonly<Record<string, (data: z.output<Schema>) => string>>;
  /** Those of `personal` that are credentials: they are opened where they are used, and shown to nobody, auditors included. */
  readonly secret: readonly string[];
  /** `upcasters[n]` turns data of version n into version n + 1. */
  readonly upcasters: Readonly<Record<number, (data: unknown) => unknown>>;
}

export const defineEvent = <Type extends string, Schema extends z.ZodType>(
  type: Type,
  schema: Schema,
  options: {
    version?: number;
    personal?: Readonly<Record<string, (data: z.output<Schema>) => string>>;
    secret?: readonly string[];
    upcasters?: Readonly<Record<number, (data: unknown) => unknown>>;
  } = {},
): EventDefinition<Type, Schema> => ({
  type,
  schema,
  version: options.version ?? 1,
  personal: options.personal ?? {},
  secret: options.secret ?? [],
  upcasters: options.upcasters ?? {},
});

/** `{type, data}` of a definition; a union of definitions gives a union that a switch can narrow. */
export type EventOf<D> =
  D extends EventDefinition<infer Type, infer Schema>
    ? { readonly type: Type; readonly data: z.output<Schema> }
    : never;

/** What a decider is told of an event beside its data. */
export interface EventMeta {
  /** `occurred_at` in ms; never decreases within a stream. */
  readonly at: number;
  readonly revision: number;
}
