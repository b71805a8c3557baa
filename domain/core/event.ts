import type { z } from 'zod';

/** The owner of a personal text. Each owner has one data key, which seals the texts; destroying it erases the texts. */
export interface Owner<Field extends string = string> {
  readonly kind: 'person' | 'first_admin' | 'message' | 'webhook' | 'sso';
  /** The field that holds the owner's id. */
  readonly id: Field;
  /** The field that holds the key's id, in events that have such a field. */
  readonly key?: Field;
}

/**
 * An event type is a value: its schema gives the TypeScript type, the validation at the store's boundary and the
 * catalogue in `docs/events.md`.
 */
export interface EventDefinition<Type extends string = string, Schema extends z.ZodType = z.ZodType> {
  readonly type: Type;
  /** Raised when the shape changes; upcasters convert older versions. */
  readonly version: number;
  readonly schema: Schema;
  /**
   * The fields that hold personal texts, each with the owner of its text. The codec seals the texts when it encodes a
   * new event; a stored event holds the sealed form.
   */
  readonly personal: Readonly<Record<string, Owner>>;
  /** The personal fields that hold credentials: opened only for use, and never shown, not even to auditors. */
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

/** `{type, data}` of a definition. A union of definitions gives a union that a switch can narrow. */
export type EventOf<D> =
  D extends EventDefinition<infer Type, infer Schema>
    ? { readonly type: Type; readonly data: z.output<Schema> }
    : never;

/** Decides one event. Members of `data` that are undefined are left out. */
export const decided = <Type extends string, Schema extends z.ZodType>(
  { type }: EventDefinition<Type, Schema>,
  data: z.output<Schema>,
): readonly [{ readonly type: Type; readonly data: z.output<Schema> }] => [{ type, data: compact(data) }];

/** The values without the members that are undefined. */
export const defined = <T extends object>(values: T) =>
  compact(values) as { [K in keyof T]?: Exclude<T[K], undefined> };

const compact = <T>(data: T): T => {
  const values = Object.values(Object(data));
  if (!values.includes(undefined)) return data;
  const kept = { ...data };
  for (const [key, value] of Object.entries(Object(data))) {
    if (value === undefined) Reflect.deleteProperty(Object(kept), key);
  }
  return kept;
};

/** Metadata that `evolve` gets in addition to an event's data. */
export interface EventMeta {
  /** `occurred_at` in ms; never decreases within a stream. */
  readonly at: number;
  readonly revision: number;
}
