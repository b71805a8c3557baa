import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';

/** A server in its own process, so that the server and the load generator share no event loop. */
export interface Child {
  readonly port: number;
  readonly pid: number;
  /** CPU seconds used so far by all threads; NaN where the system does not report them. */
  cpuSeconds(): number;
  /** Peak resident memory since the start, in bytes; NaN where the system does not report it. */
  peakBytes(): number;
  stop(): Promise<void>;
}

const START_MS = 30_000;
const STOP_MS = 12_000;

/**
 * Starts `node <script>` with a free `PORT` and resolves when `path` answers 200. If `BENCH_LOG` names a file, the
 * child logs at level debug, and its standard output is appended to that file.
 * @param script relative to `bench/`
 * @throws when the process ends or does not answer in time; the child inherits standard error
 */
export const startChild = async (
  script: string,
  path: string,
  environment: Readonly<Record<string, string>> = {},
  nodeOptions: readonly string[] = [],
): Promise<Child> => {
  const port = await freePort();
  const file = fileURLToPath(new URL(`../${script}`, import.meta.url));
  const log = process.env.BENCH_LOG;
  const child = spawn(process.execPath, [...nodeOptions, file], {
    env: {
      ...inherited(),
      ...environment,
      ...(log !== undefined && { LOG_LEVEL: 'debug' }),
      PORT: String(port),
      HOST: '127.0.0.1',
    },
    stdio: ['ignore', log === undefined ? 'ignore' : openSync(log, 'a'), 'inherit'],
  });
  try {
    await answering(child, `http://127.0.0.1:${port}${path}`);
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
  const pid = child.pid ?? 0;
  return {
    port,
    pid,
    cpuSeconds: () => cpuSeconds(pid),
    peakBytes: () => peakBytes(pid),
    stop: () => stop(child),
  };
};

/** The variables that a server inherits; all configuration comes from the caller. */
const inherited = (): Record<string, string> => {
  const names = ['PATH', 'HOME', 'TMPDIR'];
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
};

/** Lies below the ephemeral ports, which other connections take, so that a port stays free for the child. */
const PORTS = { first: 20_000, count: 10_000 };

const freePort = async (): Promise<number> => {
  for (let tries = 0; tries < 50; tries += 1) {
    const port = PORTS.first + Math.floor(Math.random() * PORTS.count);
    const server = createServer();
    const free = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!free) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
  throw new Error('no free port was found');
};

const answering = async (child: ChildProcess, url: string): Promise<void> => {
  const deadline = performance.now() + START_MS;
  while (performance.now() < deadline) {
    const { exitCode, signalCode } = child;
    if (exitCode !== null || signalCode !== null)
      throw new Error(`a server under test ended with ${exitCode ?? signalCode}`);
    const status = await fetch(url).then(
      async (response) => {
        await response.arrayBuffer();
        return response.status;
      },
      () => 0,
    );
    if (status === 200) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`a server under test did not answer ${url} in ${START_MS} ms`);
};

const stop = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const cutOff = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
  await ended;
  clearTimeout(cutOff);
};

/** Reads `/proc`, since getrusage also includes the peak of the parent process. */
export const peakBytes = (pid: number): number => {
  try {
    const kibibytes = /^VmHWM:\s*([0-9]+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return kibibytes === undefined ? Number.NaN : Number(kibibytes) * 1024;
  } catch {
    return Number.NaN;
  }
};

const TICKS_PER_SECOND = 100;

const cpuSeconds = (pid: number): number => {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
  } catch {
    return Number.NaN;
  }
};
