import { flushCompileCache } from 'node:module';
import type { AddressInfo } from 'node:net';
import { misspelledVariables } from '../infrastructure/config/misspelled-variables.ts';
import { ConfigError, readConfig } from '../infrastructure/config.ts';
import { codeOf } from '../infrastructure/error-code.ts';
import { releaseWhenIdle } from '../infrastructure/idle-memory.ts';
import { createLogger } from '../infrastructure/logger.ts';
import { keepFilesPrivate, requireFolders, warnOfOpenFolders } from '../infrastructure/private-files.ts';
import { memberOf } from './cluster/member.ts';
import { createDemo, describeDemo, ensurePlatformAdmin } from './first-run.ts';
import { listen } from './http/listening.ts';
import { STOPPING, stopOnSignals } from './stopping.ts';

/**
 * Starts the product and serves until a signal; with several `WORKERS`, supervises processes. Imported by `start.js`.
 */
const main = async (): Promise<void> => {
  keepFilesPrivate();
  const config = readConfig(process.env);
  const log = createLogger(config.LOG_LEVEL);
  const member = memberOf(process.env);
  if (config.WORKERS > 1 && member === undefined) {
    const { Supervisor } = await import('./cluster/supervisor.ts');
    const supervisor = new Supervisor(config, log, process.env);
    for (const signal of STOPPING) process.on(signal, () => supervisor.stop(signal));
    process.exit(await supervisor.run());
  }
  const logger = member === undefined ? log : log.child({ process: member.identity.index });
  const isFirst = (member?.identity.index ?? 0) === 0;
  const runs = stopOnSignals(logger, member !== undefined);
  if (isFirst) {
    for (const misspelled of misspelledVariables(process.env)) {
      logger.warn(misspelled, 'a variable is unknown and has no effect: its name may be misspelled');
    }
  }
  requireFolders(config);
  if (isFirst) warnOfOpenFolders(config, logger);
  // Imported late, because a supervisor does not need this module.
  const { startPlatform } = await import('./platform.ts');
  const platform = await startPlatform({ config, logger, member });
  runs(platform);
  const { server } = platform;

  // The EventStoreDB client can reject without a listener when its server crashes under load. So with EventStoreDB a
  // rejection is only logged; each append has a timeout. Otherwise a rejection is a bug, and ends the process.
  process.on('unhandledRejection', (error: unknown) => {
    logger.error({ err: error }, 'an unhandled rejection');
    if (config.EVENTSTORE_URL === undefined) process.exit(1);
  });

  const demo = config.ROLE !== 'worker' && config.DEMO && (await platform.isEmpty());
  if (config.ROLE !== 'worker' && isFirst) await ensurePlatformAdmin(platform, config);
  // Binds the port before the demo is created, so that a failed start leaves no accounts with unprinted passwords.
  await listen(server, { port: config.PORT, host: config.HOST }, member !== undefined);
  if (demo) process.stdout.write(`${describeDemo(await createDemo(platform, config))}\n`);
  const { address, port } = server.address() as AddressInfo;
  const base = `http://${address.includes(':') ? `[${address}]` : address}:${port}`;
  // Node itself would write the compile cache at a normal exit only.
  flushCompileCache();
  platform.started();
  logger.info({ api: base, docs: `${base}/docs`, role: config.ROLE }, 'listening');
  member?.listening();
  releaseWhenIdle();
};

/** Advice for an address that cannot be bound, by error code. */
const REMEDIES: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process uses PORT: stop it, or set another one',
  EACCES: 'this user may not use PORT: set another one',
  EADDRNOTAVAIL: 'HOST is not an address of this machine',
  ENOTFOUND: 'HOST is not an address of this machine',
};

const explained = (error: unknown): string => {
  const message = error instanceof Error ? error.message : String(error);
  const isOfAddress = /^(listen|getaddrinfo) /.test(message);
  const remedy = isOfAddress ? REMEDIES[String(codeOf(error))] : undefined;
  return remedy === undefined ? message : `${message} (${remedy}).`;
};

main().catch((error: unknown) => {
  const message = explained(error);
  const verbose = ['debug', 'trace'].includes(process.env.LOG_LEVEL ?? '');
  const stack = verbose && error instanceof Error ? `\n${error.stack}` : '';
  process.stderr.write(
    error instanceof ConfigError ? `${message}\n` : `The server could not start: ${message}${stack}\n`,
  );
  process.exit(1);
});
