import { z } from 'zod';
import type { Client, Person, Request } from '../client.ts';
import type { Dice } from '../dice.ts';
import type { Hosts } from '../hosts.ts';
import type { Fact } from '../log.ts';
import type { Reply } from '../network.ts';
import type { World } from '../world.ts';

/** Actions of users in one area, and the promises that hold at the end. */
export interface Area {
  readonly name: string;
  /** Makes what the area needs in a new tenant. */
  prepare(tenant: Tenant): Promise<void>;
  /** Actions that a person can take now, with weights; 0 for those that make no sense yet. */
  actions(tenant: Tenant, actor: Actor): readonly Choice[];
  /** Pages that a person may open at any time. */
  pages?(tenant: Tenant, actor: Actor): readonly Page[];
  /** Called when faults have ended and all work is done. */
  check(log: readonly Fact[], report: Report): void | Promise<void>;
}

/** A page whose answer must be right at any time, whatever fails and however old the read model is. */
export interface Page {
  readonly path: string;
  /** Default: the client of the person. */
  readonly client?: Client;
  /** A write that the answer must include. */
  readonly written?: Reply;
  /** Default: 200. */
  readonly status?: number;
  /**
   * The read model whose documents the answer adds up. On a store without transactions the answer may include half a
   * batch (docs/guarantees.md, Ledger), and is then not checked.
   */
  readonly agreesIn?: string;
  /** Describes the error in an answer; undefined for a right one. */
  readonly wrong?: (body: unknown) => string | undefined;
}

/** Describes an id that a list has twice. */
export const twiceIn = (rows: readonly { readonly id: string }[]): string | undefined =>
  new Set(rows.map(({ id }) => id)).size === rows.length ? undefined : 'a row is listed twice';

export type Choice = readonly [weight: number, act: () => Promise<void>];
export type Report = (text: string) => void;

export interface Actor extends Person {
  readonly client: Client;
}

export interface Tenant {
  readonly id: string;
  /** The first is an admin. */
  readonly people: readonly Actor[];
  readonly admin: Actor;
}

/** Values that all areas of a run share. */
export interface Context {
  readonly world: World;
  readonly dice: Dice;
  readonly requests: readonly Request[];
  readonly tenants: readonly Tenant[];
  readonly hosts: Hosts;
  /** A client of the platform's tool. */
  readonly platform: Client;
  /** One minute before the run, in seconds since 1970. */
  readonly issuedAt: number;
  /** A client with a person's own token. */
  readonly clientOf: (person: Person) => Client;
  /** A client with this token as its credential; undefined makes a client without a credential. */
  readonly clientWith: (token: string | undefined) => Client;
  /** Runs `work` after a time (ms), while the person continues with other things. */
  readonly later: (ms: number, work: () => Promise<void>) => void;
}

/** Cached rights apply for at most 5 s (docs/guarantees.md); a request takes a moment. */
export const BOUND_MS = 5_200;

export const V1 = '/api/v1/tenant';
export const withId = z.looseObject({ id: z.string() });

/** Creates what must exist before faults begin. @throws {Error} when it is refused */
export const prepared = async (client: Client, path: string, body: unknown): Promise<unknown> => {
  const reply = await client.write('POST', path, body, { what: `prepare ${path}` });
  if (reply === undefined || reply.status >= 300)
    throw new Error(`${path}: ${reply?.status} ${JSON.stringify(reply?.body)}`);
  return reply.body;
};

/** A list for each tenant. */
export class PerTenant<T> {
  readonly #lists = new Map<string, T[]>();

  of({ id }: Pick<Tenant, 'id'>): T[] {
    const found = this.#lists.get(id) ?? [];
    this.#lists.set(id, found);
    return found;
  }
}
