import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { AggregatorRegistry } from 'prom-client';
import type { Logger } from '../../application/ports/logger.ts';
import type { Config } from '../../infrastructure/config.ts';
import { freePort } from '../http/listening.ts';
import { MEMBER, type ProcessIdentity } from './member.ts';
import { type FromProcess, fromProcess, type ToProcess } from './messages.ts';
import { PendingReplies } from './pending-replies.ts';

const MAIN = fileURLToPath(new URL('../main.ts', import.meta.url));
/** A process that ran longer than this (ms) is restarted at once; otherwise, with exponential backoff. */
const STABLE_MS = 5000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5000;
/** Maximum time (ms) until the first process gets SIGTERM: the last reads in the others need its background work. */
const BACKGROUND_STOP_DELAY_MS = 2000;
/** Processes still running after this time (ms) are killed. */
const STOP_MS = 9500;

/** How long (ms) processes may take to report their metrics; a blocked process is left out. */
const COLLECT_MS = 1000;

type Snapshot = Extract<FromProcess, { kind: 'snapshot' }>['metrics'];

interface Slot {
  readonly identity: ProcessIdentity;
  readonly role: Config['ROLE'];
  child: ChildProcess | undefined;
  startedAt: number;
  failures: number;
  restartTimer: NodeJS.Timeout | undefined;
}

type Settings = Pick<Config, 'ROLE' | 'WORKERS' | 'PORT' | 'HOST'>;

type Fork = (env: NodeJS.ProcessEnv) => ChildProcess;
const forkMain: Fork = (env) => fork(MAIN, { env });

/**
 * Runs several processes on one port (`WORKERS`): the first has the configured role, the others serve requests.
 * Restarts processes, aggregates metrics and forwards rate-limit counts to the other processes (decision 57).
 */
export class Supervisor {
  readonly #settings: Settings;
  readonly #logger: Logger;
  /** Environment variables for the processes. */
  readonly #variables: Readonly<Record<string, string | undefined>>;
  readonly #fork: Fork;
  readonly #slots: readonly Slot[];
  readonly #asked = new PendingReplies<Snapshot>();
  #port = 0;
  #hasListened = false;
  #stopping = false;
  #failed = false;
  readonly #ended = Promise.withResolvers<void>();

  constructor(
    settings: Settings,
    logger: Logger,
    variables: Readonly<Record<string, string | undefined>>,
    forkProcess = forkMain,
  ) {
    const { ROLE, WORKERS } = settings;
    this.#settings = settings;
    this.#logger = logger;
    this.#variables = variables;
    this.#fork = forkProcess;
    this.#slots = Array.from({ length: WORKERS }, (_, index) => ({
      identity: { index, processes: WORKERS, owner: randomUUID() },
      role: index === 0 ? ROLE : 'api',
      child: undefined,
      startedAt: 0,
      failures: 0,
      restartTimer: undefined,
    }));
  }

  /**
   * Starts the first process, and the other processes once the first listens. Waits until all have ended.
   * @returns the exit code, after a stop or a failed start
   * @throws when the port is in use
   */
  async run(): Promise<number> {
    this.#port = await freePort({ port: this.#settings.PORT, host: this.#settings.HOST });
    const [first] = this.#slots;
    if (first !== undefined && !this.#stopping) this.#start(first);
    await this.#ended.promise;
    return this.#failed ? 1 : 0;
  }

  /** Stops the processes that only serve requests, then the first, which may also do background work. */
  stop(reason: string): void {
    if (this.#stopping) return;
    this.#stopping = true;
    this.#logger.info({ reason, processes: this.#running.length }, 'stopping the processes');
    for (const { restartTimer } of this.#slots) clearTimeout(restartTimer);
    setTimeout(() => {
      this.#failed = true;
      for (const { child } of this.#running) child?.kill('SIGKILL');
    }, STOP_MS).unref();
    setTimeout(() => this.#slots[0]?.child?.kill('SIGTERM'), BACKGROUND_STOP_DELAY_MS).unref();
    for (const { identity, child } of this.#slots) if (identity.index > 0) child?.kill('SIGTERM');
    this.#stopLast();
  }

  get #running(): readonly Slot[] {
    return this.#slots.filter(({ child }) => child !== undefined);
  }

  #start(slot: Slot): void {
    const { identity, role } = slot;
    const env = {
      ...this.#variables,
      ROLE: role,
      PORT: String(this.#port),
      [MEMBER]: JSON.stringify(identity),
    };
    const failed = (error: unknown): void =>
      this.#logger.warn({ err: error, process: identity.index }, 'a process failed');
    slot.startedAt = performance.now();
    let child: ChildProcess;
    try {
      child = this.#fork(identity.index === 0 ? env : { ...env, DEMO: '0' });
    } catch (error) {
      failed(error);
      this.#onExit(slot, null, null);
      return;
    }
    slot.child = child;
    child.once('spawn', () =>
      this.#logger.info({ process: identity.index, pid: child.pid, role }, 'a process was started'),
    );
    child.on('message', (message: unknown) => this.#receive(child, message));
    // Without a listener, an `error` event would end the supervisor.
    child.on('error', (error) => {
      failed(error);
      // A process that could not be started has no `exit` event.
      if (child.pid === undefined) this.#onExit(slot, null, null);
    });
    child.once('exit', (code, signal) => this.#onExit(slot, code, signal));
  }

  #startOthers(): void {
    this.#hasListened = true;
    if (this.#stopping) return;
    for (const slot of this.#slots) if (slot.child === undefined) this.#start(slot);
  }

  #onExit(slot: Slot, code: number | null, signal: string | null): void {
    slot.child = undefined;
    if (this.#stopping) {
      if (code !== 0) this.#failed = true;
      this.#stopLast();
      return;
    }
    if (!this.#hasListened) {
      // The start failed; the process has logged the reason.
      this.#failed = code !== 0;
      this.#ended.resolve();
      return;
    }
    const isStable = performance.now() - slot.startedAt > STABLE_MS;
    slot.failures = isStable ? 0 : slot.failures + 1;
    const pauseMs = isStable ? 0 : Math.min(FIRST_PAUSE_MS * 2 ** (slot.failures - 1), LONGEST_PAUSE_MS);
    const fields = { process: slot.identity.index, code, signal, pause_ms: pauseMs };
    this.#logger.error(fields, 'a process ended; it is restarted');
    slot.restartTimer = setTimeout(() => this.#start(slot), pauseMs);
  }

  /** Stops the first process once the others have ended; resolves `run` once all have ended. */
  #stopLast(): void {
    const running = this.#running;
    if (running.length === 0) this.#ended.resolve();
    else if (running.every(({ identity }) => identity.index === 0)) running[0]?.child?.kill('SIGTERM');
  }

  #receive(from: ChildProcess, received: unknown): void {
    const message = fromProcess.parse(received);
    switch (message.kind) {
      case 'listening':
        if (!this.#hasListened) this.#startOthers();
        return;
      case 'scrape': {
        const { id } = message;
        void this.#metrics().then((text) => send(from, { kind: 'metrics', id, text }));
        return;
      }
      case 'snapshot':
        this.#asked.reply(message.id, message.metrics);
        return;
      case 'taken':
        for (const { child } of this.#running)
          if (child !== undefined && child !== from) send(child, message);
        return;
      default:
        message satisfies never;
    }
  }

  async #metrics(): Promise<string> {
    const children = this.#running.flatMap(({ child }) => child ?? []);
    // Leaves out a process that does not report in time.
    const all = await Promise.all(
      children.map((child) => this.#asked.ask(COLLECT_MS, (id) => send(child, { kind: 'collect', id }))),
    );
    return AggregatorRegistry.aggregate(all.filter((metrics) => metrics !== undefined)).metrics();
  }
}

/** Ignores a failure: a message to a process that has just died is lost. */
const send = (child: ChildProcess, message: ToProcess): void => {
  if (child.connected) child.send(message, () => undefined);
};
