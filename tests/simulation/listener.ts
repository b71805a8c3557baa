import WebSocket from 'ws';
import { z } from 'zod';
import type { Actor } from './areas/area.ts';
import { idOf } from './areas/messaging.ts';
import type { Dice } from './dice.ts';
import { connect } from './network.ts';

import type { World } from './world.ts';

const frame = z.looseObject({
  kind: z.string(),
  event: z.string(),
  position: z.string(),
  message: z.looseObject({ id: z.string() }).optional(),
  notification: z.looseObject({ id: z.string() }).optional(),
});

/** A client of the socket that keeps the last position it saw, is cut now and then, and resumes at any node. */
export class Listener {
  /** Ids of messages and notifications in the order of their arrival. */
  readonly heard: string[] = [];
  readonly faults: string[] = [];
  /** The position in the first `ready`; the listener gets everything after this position. */
  from: string | undefined;
  readonly actor: Actor;
  readonly #world: World;
  readonly #dice: Dice;
  readonly #token: string;
  #last: string | undefined;
  #isOver = false;
  #socket: WebSocket | undefined;

  constructor(world: World, dice: Dice, actor: Actor, token: string) {
    this.#world = world;
    this.#dice = dice;
    this.actor = actor;
    this.#token = token;
  }

  end(): void {
    this.#isOver = true;
    this.#socket?.terminate();
  }

  async run(): Promise<void> {
    const { time, nodes, note } = this.#world;
    while (!this.#isOver) {
      const node = this.#dice.pick(nodes.filter(({ role }) => role !== 'worker'));
      const { server } = node;
      if (server !== undefined) {
        note(`${this.actor.id} listens at ${node.name} after ${this.#last ?? 'now'}`);
        await Promise.race([
          time.as(node.owner, () => this.#listen(server)),
          node.died.catch(() => undefined),
        ]);
        this.#socket?.terminate();
      }
      await time.pause(this.#dice.delay(300, 3_000));
    }
  }

  #listen(server: Parameters<typeof connect>[0]): Promise<void> {
    const { time } = this.#world;
    return new Promise((resolve) => {
      const after = this.#last === undefined ? '' : `?after=${this.#last}`;
      const socket = new WebSocket(`ws://simulation/api/v1/ws${after}`, {
        createConnection: () => connect(server),
        headers: { authorization: `Bearer ${this.#token}` },
        perMessageDeflate: false,
      });
      this.#socket = socket;
      const cut = time.after(500 + this.#dice.number() * 12_000, () => socket.terminate(), undefined);
      const over = (): void => {
        cut();
        socket.removeAllListeners('message');
        resolve();
      };
      socket.on('message', (data) => {
        if (socket === this.#socket) this.#hear(String(data));
      });
      socket.on('error', over);
      socket.on('close', over);
      socket.on('unexpected-response', (request) => {
        request.destroy();
        over();
      });
    });
  }

  #hear(text: string): void {
    const { kind, event, position, message, notification } = frame.parse(JSON.parse(text));
    if (this.#last !== undefined && position < this.#last)
      this.faults.push(`a position went back to ${position}`);
    if (event === 'resync') this.faults.push('a resync was asked for');
    this.from ??= position;
    this.#last = position;
    if (kind === 'message' && message !== undefined) this.heard.push(idOf('message', message.id));
    if (kind === 'notification' && notification !== undefined)
      this.heard.push(idOf('notification', notification.id));
  }
}
