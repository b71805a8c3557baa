/** Open questions to other processes, by id. */
export class Questions<Answer> {
  readonly #open = new Map<number, (answer: Answer | undefined) => void>();
  #lastId = 0;

  /** Sends a question. @returns undefined when no answer comes within `ms` */
  async ask(ms: number, send: (id: number) => void): Promise<Answer | undefined> {
    this.#lastId += 1;
    const id = this.#lastId;
    const { promise, resolve } = Promise.withResolvers<Answer | undefined>();
    this.#open.set(id, resolve);
    using _timer = setTimeout(resolve, ms, undefined);
    send(id);
    const answer = await promise;
    this.#open.delete(id);
    return answer;
  }

  answer(id: number, answer: Answer): void {
    this.#open.get(id)?.(answer);
  }
}
