import type { z } from 'zod';

/** The owner of a personal text: one data key for each owner seals its texts, and destroying that key erases them. */
export interface Owner<Field extends string = string> {
  readonly kind: 'person' | 'first_admin' | 'message' | 'webhook' | 'sso';
  /** The field with the owner's id. */
  readonly id: Field;
  /** The field that names the key itself, in events that have it. */
  readonly key?: Field;
}

/**
 * An event type is a value: its schema gives the TypeScript type, the validation at the store's boundary and the
 * catalogue in `docs/events.md`.
 */
export interface EventDefinition<Type extends string = string, Schema extends z.ZodType = z.ZodType> {
  readonly type: Type;
  /** Raised when the shape changes; an upcaster leads from each older version to the next. */
  readonly version: number;
  readonly schema: Schema;
  /**
   * Fields with personal texts, and whose they are. A new event holds the text as decided; the codec seals it, and
   * everywhere else the field holds the sealed form.
   */
  readonly personal: Readonly<Record<string, Owner>>;
  /** Those of `personal` that are credentials: opened where they are used, and shown to nobody, auditors included. */
  readonly secret: readonly string[];
  /** `upcasters[n]` turns data of version n into version n + 1. */
  readonly upcasters: Readonly<Record<number, (data: unknown) => unknown>>;
}

type FieldOf<Schema extends z.ZodType> = Extract<keyof z.output<Schema>, string>;

export const defineEvent = <Type extends string, Schema extends z.ZodType>(
  type: Type,
  schema: Schema,
  options: {
    version?: number;
    personal?: Readonly<Record<string, Owner<FieldOf<Schema>>>>;
    secret?: readonly FieldOf<Schema>[];
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

/** Metadata that `evolve` gets beside an event's data. */
export interface EventMeta {
  /** `occurred_at` in ms; never decreases within a stream. */
  readonly at: number;
  readonly revision: number;
}
