/** A refused request. Branch on {@link code}; the message may be reworded. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  /**
   * The `error` of the body, `validation_failed` for example; empty when the answer came from a proxy and not from
   * the server.
   */
  readonly code: string;
  readonly details: Readonly<Record<string, unknown>>;
  /** Id of the request in the server's log. */
  readonly requestId: string | undefined;

  constructor(response: Response, body: unknown) {
    const { error, message, details } = isRecord(body) ? body : {};
    super(typeof message === 'string' ? message : `HTTP ${response.status}`);
    this.status = response.status;
    this.code = typeof error === 'string' ? error : '';
    this.details = isRecord(details) ? details : {};
    this.requestId = response.headers.get('x-request-id') ?? undefined;
  }
}

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** @throws {ApiError} unless the answer is a success */
export const checked = async (response: Response): Promise<Response> => {
  if (response.ok) return response;
  const text = await response.text();
  throw new ApiError(response, parsed(text));
};

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
