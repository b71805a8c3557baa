/** Replies that this process expects from other processes, by the id of the question. */
export class PendingReplies<Reply> {
  readonly #open = new Map<number, (reply: Reply | undefined) => void>();
  #lastId = 0;

  /** Sends a question. @returns undefined when no reply comes within `ms` */
  async ask(ms: number, send: (id: number) => void): Promise<Reply | undefined> {
    this.#lastId += 1;
    const id = this.#lastId;
    const { promise, resolve } = Promise.withResolvers<Reply | undefined>();
    this.#open.set(id, resolve);
    using _timer = setTimeout(resolve, ms, undefined);
    send(id);
    const reply = await promise;
    this.#open.delete(id);
    return reply;
  }

  reply(id: number, reply: Reply): void {
    this.#open.get(id)?.(reply);
  }
}
