/**
 * Appends that timed out and that the server has not answered yet; a frozen server may still store them. Reads of the
 * same stream wait for the answer, so that an unknown outcome is never treated as "not stored".
 */
export class LateAppends {
  readonly #byStream = new Map<string, Set<Promise<unknown>>>();

  add(stream: string, append: Promise<unknown>): void {
    const appends = this.#byStream.get(stream) ?? new Set();
    this.#byStream.set(stream, appends);
    const settled = append
      .catch(() => undefined)
      .finally(() => {
        appends.delete(settled);
        if (appends.size === 0) this.#byStream.delete(stream);
      });
    appends.add(settled);
  }

  /** Resolves when the server has answered all appends to the stream; undefined when there are none. */
  of(stream: string): Promise<unknown> | undefined {
    const appends = this.#byStream.get(stream);
    return appends === undefined ? undefined : Promise.all(appends);
  }
}
