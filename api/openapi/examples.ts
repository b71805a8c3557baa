import recorded from './examples.json' with { type: 'json' };

/** Examples of an operation for the OpenAPI document, from `examples.json`. */
export interface OperationExample {
  /** Path parameters, query and headers. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  /** JSON answers by status, other answers by status and then media type. */
  readonly answers: Readonly<Record<string, unknown>>;
}

export interface Examples {
  readonly operations: Readonly<Record<string, OperationExample>>;
  /** By status. */
  readonly errors: Readonly<Record<string, unknown>>;
  /** Bodies of deliveries by event type, and envelopes of the WebSocket by the name of their message. */
  readonly events: Readonly<Record<string, unknown>>;
}

export const EXAMPLES: Examples = recorded;
