import type { FieldIssue } from '../domain/errors.ts';
import type { FieldSpecs } from '../domain/expressions/tree.ts';
import type { Definition } from '../domain/workflow/definition.ts';
import { definitionIssues, fitIssues, type Machine, machineOf } from '../domain/workflow/machine.ts';
import {
  createWorkflow,
  type ExistingWorkflow,
  publishWorkflow,
  saveDraft,
  type Workflow,
  type WorkflowEvent,
  WorkflowPublished,
  workflowDecider,
} from '../domain/workflow/workflow.ts';
import { dataOf, type EventCodec } from './codec.ts';
import type { CommandHandler, Outcome } from './command-handler.ts';
import type { EventStore, Position } from './ports/event-store.ts';
import type { RequestContext } from './request-context.ts';
import type { StreamStates } from './stream-states.ts';
import { streamName } from './streams.ts';

/** A published version, ready to be run. */
export interface PublishedWorkflow {
  readonly name: string;
  /** From 1 on. */
  readonly version: number;
  /** Key of the state in which jobs begin. */
  readonly initial: string;
  readonly machine: Machine;
  /** What does not fit an entity with these fields; `path` leads into the definition. */
  readonly checkAgainst: (fields: FieldSpecs) => readonly FieldIssue[];
}

/** The entities whose records run a workflow. */
export type EntitiesUsing = (
  tenantId: string,
  workflow: string,
) => Promise<readonly { readonly name: string; readonly fields: FieldSpecs }[]>;

interface Changed {
  readonly workflow: ExistingWorkflow;
  readonly position: Position | undefined;
}

/** Issues of one answer; a definition can be wrong in more places than anybody reads. */
const MAX_ISSUES = 1000;
/** Characters of definitions kept ready in memory, as JSON. */
const MAX_KEPT = 16 * 1024 * 1024;

/** Use cases on workflows, and the published versions for whoever runs jobs (decisions, section 6, Workflow). */
export class Workflows {
  readonly #commands: CommandHandler;
  readonly #states: StreamStates;
  readonly #events: EventStore;
  readonly #codec: EventCodec;
  readonly #entitiesUsing: EntitiesUsing;
  /** Published versions never change: by tenant, name and version, the least recently made ready first. */
  readonly #kept = new Map<string, { readonly published: PublishedWorkflow; readonly size: number }>();
  #keptSize = 0;

  constructor(deps: {
    commands: CommandHandler;
    states: StreamStates;
    events: EventStore;
    codec: EventCodec;
    entitiesUsing: EntitiesUsing;
  }) {
    this.#commands = deps.commands;
    this.#states = deps.states;
    this.#events = deps.events;
    this.#codec = deps.codec;
    this.#entitiesUsing = deps.entitiesUsing;
  }

  /** @throws `validation_failed`, `already_exists` */
  async create(
    tenantId: string,
    name: string,
    definition: Definition,
    context: RequestContext,
  ): Promise<Changed> {
    return this.#execute(tenantId, name, context, (state) => createWorkflow(state, { name, definition }));
  }

  /** Saves the next draft. @throws `validation_failed`, `not_found` */
  async save(
    tenantId: string,
    name: string,
    definition: Definition,
    context: RequestContext,
  ): Promise<Changed> {
    return this.#execute(tenantId, name, context, (state) => saveDraft(state, definition));
  }

  /**
   * The draft becomes the next version, checked against every entity that runs the workflow.
   * @throws `not_found`, `validation_failed` with every issue
   */
  async publish(tenantId: string, name: string, context: RequestContext): Promise<Changed> {
    const outcome = await this.#commands.execute({
      tenantId,
      decider: workflowDecider,
      id: name,
      cause: context.cause,
      again: context.again,
      prepare: () => this.#entitiesUsing(tenantId, name),
      decide: (state, _at, entities) =>
        publishWorkflow(state, (definition) =>
          [
            ...definitionIssues(definition),
            ...entities.flatMap((entity) =>
              fitIssues(definition, entity.fields).map((issue) => ({
                ...issue,
                message: `${entity.name}: ${issue.message}`,
              })),
            ),
          ].slice(0, MAX_ISSUES),
        ),
    });
    return existing(outcome);
  }

  /**
   * A published version, the newest unless one is named; undefined when there is none.
   */
  async published(tenantId: string, name: string, version?: number): Promise<PublishedWorkflow | undefined> {
    const known = version === undefined ? undefined : this.#kept.get(keyOf(tenantId, name, version));
    if (known !== undefined) return known.published;
    const { state } = await this.#states.load(tenantId, workflowDecider, name);
    const newest = state.exists ? state.versions.length : 0;
    if (version !== undefined && version > newest) return this.#afterRefresh(tenantId, name, version);
    return state.exists ? this.#of(tenantId, state, version ?? newest) : undefined;
  }

  /** The state in memory may be behind what another node has published. */
  async #afterRefresh(
    tenantId: string,
    name: string,
    version: number,
  ): Promise<PublishedWorkflow | undefined> {
    const stream = streamName(tenantId, workflowDecider.category, name);
    const refreshed = await this.#states.refresh(stream, workflowDecider);
    // The stream's name says which decider folded it.
    const state = refreshed.state as Workflow;
    return state.exists ? this.#of(tenantId, state, version) : undefined;
  }

  async #of(
    tenantId: string,
    state: ExistingWorkflow,
    version: number,
  ): Promise<PublishedWorkflow | undefined> {
    const { name, published, versions } = state;
    const key = keyOf(tenantId, name, version);
    const known = this.#kept.get(key);
    if (known !== undefined) return known.published;
    const revision = versions[version - 1];
    if (revision === undefined) return undefined;
    const isNewest = version === versions.length && published !== undefined;
    const definition = isNewest ? published : await this.#read(tenantId, name, revision);
    return this.#keep(key, madeReady(name, version, definition));
  }

  async #read(tenantId: string, name: string, revision: number): Promise<Definition> {
    const stream = streamName(tenantId, workflowDecider.category, name);
    const [stored] = await this.#events.readStream(stream, { from: revision, limit: 1 });
    const data = stored === undefined ? undefined : dataOf(WorkflowPublished, this.#codec.decode(stored));
    if (data === undefined) throw new Error(`${stream}@${revision} is no published workflow`);
    return data.definition;
  }

  #keep(key: string, published: PublishedWorkflow): PublishedWorkflow {
    const size = JSON.stringify(published.machine.definition).length;
    if (!this.#kept.has(key)) this.#keptSize += size;
    this.#kept.set(key, { published, size });
    for (const [oldest, { size: freed }] of this.#kept) {
      if (this.#keptSize <= MAX_KEPT) break;
      this.#kept.delete(oldest);
      this.#keptSize -= freed;
    }
    return published;
  }

  async #execute(
    tenantId: string,
    name: string,
    context: RequestContext,
    decide: (state: Workflow) => readonly WorkflowEvent[],
  ): Promise<Changed> {
    const outcome = await this.#commands.execute({
      tenantId,
      decider: workflowDecider,
      id: name,
      cause: context.cause,
      again: context.again,
      decide,
    });
    return existing(outcome);
  }
}

const keyOf = (tenantId: string, name: string, version: number): string => `${tenantId}/${name}/${version}`;

const madeReady = (name: string, version: number, definition: Definition): PublishedWorkflow => ({
  name,
  version,
  initial: definition.initial,
  machine: machineOf(name, version, definition),
  checkAgainst: (fields) => fitIssues(definition, fields),
});

const existing = ({ state, position }: Outcome<Workflow, WorkflowEvent>): Changed => {
  if (!state.exists) throw new Error('the command left no workflow');
  return { workflow: state, position };
};
