import { notFound } from '../../domain/core/errors.ts';
import { PLATFORM } from '../../domain/core/platform.ts';
import { operationsStream, requestRetry } from '../../domain/operations/operations.ts';
import type { RequestContext } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import type { ProjectionRunner, ProjectionStatus } from '../core/projections/projection-runner.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Position } from '../ports/event-store.ts';

/** Status, retries and rebuilds of read models, for platform admins. */
export class Operations extends WithDeps<{
  readonly streams: Streams;
  readonly runners: readonly ProjectionRunner[];
}> {
  async projections(): Promise<ProjectionStatus[]> {
    return (await Promise.all(this.deps.runners.map((runner) => runner.status()))).flat();
  }

  /** Requests a retry of a parked tenant, on the node that folds. @throws `not_found` */
  async retry(name: string, tenantId: string, context: RequestContext): Promise<Position | undefined> {
    this.#runner(name);
    const outcome = await this.deps.streams
      .of(operationsStream, PLATFORM, 'projections')
      .execute(context, () => requestRetry(name, tenantId));
    return outcome.position;
  }

  /**
   * Starts a new generation beside the active one, unless one is being built. @returns the new generation's tag
   * @throws `not_found`, `conflict` on a node of an older build
   */
  rebuild(name: string): Promise<string> {
    return this.#runner(name).rebuild();
  }

  #runner(name: string): ProjectionRunner {
    const runner = this.deps.runners.find((candidate) => candidate.projection.name === name);
    if (runner === undefined) throw notFound();
    return runner;
  }
}
