import { notFound } from '../domain/errors.ts';
import { operationsDecider, requestRetry } from '../domain/operations/operations.ts';
import type { CommandHandler } from './command-handler.ts';
import type { Position } from './ports/event-store.ts';
import type { ProjectionHost, ProjectionStatus } from './projection-host.ts';
import type { RequestContext } from './request-context.ts';
import { PLATFORM } from './streams.ts';

/** What operators see of read models and ask of them. */
export class Operations {
  readonly #commands: CommandHandler;
  readonly #hosts: readonly ProjectionHost[];

  constructor(commands: CommandHandler, hosts: readonly ProjectionHost[]) {
    this.#commands = commands;
    this.#hosts = hosts;
  }

  async projections(): Promise<ProjectionStatus[]> {
    return (await Promise.all(this.#hosts.map((host) => host.status()))).flat();
  }

  /** Takes a parked tenant up again, on whichever node folds. @throws `not_found` */
  async retry(name: string, tenantId: string, context: RequestContext): Promise<Position | undefined> {
    this.#host(name);
    const outcome = await this.#commands.execute({
      tenantId: PLATFORM,
      decider: operationsDecider,
      id: 'projections',
      cause: context.cause,
      again: context.again,
      decide: () => requestRetry(name, tenantId),
    });
    return outcome.position;
  }

  /** Builds a new generation beside the one that answers. @throws `not_found` */
  rebuild(name: string): Promise<string> {
    return this.#host(name).rebuild();
  }

  #host(name: string): ProjectionHost {
    const host = this.#hosts.find((candidate) => candidate.projection.name === name);
    if (host === undefined) throw notFound();
    return host;
  }
}
