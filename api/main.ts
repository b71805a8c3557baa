import type { AddressInfo } from 'node:net';
import { ConfigError, readConfig } from '../infrastructure/config.ts';
import { createLogger } from '../infrastructure/logger.ts';
import { keepFilesPrivate, warnOfOpenFolders } from '../infrastructure/private-files.ts';
import { createDemo, describeDemo, ensurePlatformAdmin } from './first-run.ts';
import { startPlatform } from './platform.ts';

/** `npm start`: reads the configuration, starts the product, and serves until SIGTERM or SIGINT. */
const main = async (): Promise<void> => {
  keepFilesPrivate();
  const config = readConfig(process.env);
  const logger = createLogger(config.LOG_LEVEL);
  warnOfOpenFolders(config, logger);
  const platform = await startPlatform({ config, logger });
  const { server } = platform;

  let stopping = false;
  const stop = (reason: string): void => {
    if (stopping) return;
    stopping = true;
    logger.info({ reason }, 'stopping');
    // Forces the exit when a stop hangs.
    setTimeout(() => process.exit(1), 9500).unref();
    platform.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        logger.error({ err: error }, 'stopping failed');
        process.exit(1);
      },
    );
  };
  // The EventStoreDB client can reject without a listener when its server crashes under load. Every append has its
  // own timeout, so nothing is lost. Any other rejection is a bug, and ends the process.
  process.on('unhandledRejection', (error: unknown) => {
    logger.error({ err: error }, 'an unhandled rejection');
    if (config.EVENTSTORE_URL === undefined) process.exit(1);
  });
  process.on('SIGTERM', () => stop('SIGTERM'));
  process.on('SIGINT', () => stop('SIGINT'));

  const demo = config.ROLE !== 'worker' && config.DEMO && (await platform.isEmpty());
  if (config.ROLE !== 'worker') await ensurePlatformAdmin(platform, config);
  // Binds the port before the demo: a failed start must not leave a demo with unseen sign-ins.
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(config.PORT, config.HOST, resolve);
  });
  if (demo) process.stdout.write(`${describeDemo(await createDemo(platform, config))}\n`);
  platform.started();
  const { address, port } = server.address() as AddressInfo;
  const base = `http://${address.includes(':') ? `[${address}]` : address}:${port}`;
  logger.info({ api: base, docs: `${base}/docs`, role: config.ROLE }, 'listening');
};

main().catch((error: unknown) => {
  const message = error instanceof Error ? error.message : String(error);
  const verbose = ['debug', 'trace'].includes(process.env.LOG_LEVEL ?? '');
  const stack = verbose && error instanceof Error ? `\n${error.stack}` : '';
  process.stderr.write(
    error instanceof ConfigError ? `${message}\n` : `The server could not start: ${message}${stack}\n`,
  );
  process.exit(1);
});
