import type { Logger } from '../../application/ports/logger.ts';
import type { OutboundHttp } from '../../application/ports/outbound-http.ts';
import type { Config } from '../../infrastructure/config.ts';
import { type Fetch, guardedFetch } from '../../infrastructure/http/guarded-fetch.ts';
import { guardedHttp } from '../../infrastructure/http/guarded-http.ts';
import type { Adapters } from './adapters.ts';

/** Outbound calls. Each use has its own guard with its own allow-list. */

const LOOPBACK = ['127.0.0.0/8', '::1/128'];
/** Metadata, key sets and tokens are a few KiB. */
const PROVIDER_LIMITS = { timeoutMs: 10_000, maxResponseBytes: 1024 * 1024 };

/** Calls to identity providers and `AUDIT_HEADS`. Outside production, loopback and plain http are allowed. */
const serviceHttp = (networks: readonly string[], { NODE_ENV }: Config): OutboundHttp => {
  const tryingOut = NODE_ENV !== 'production';
  return guardedHttp({
    allowedNetworks: [...networks, ...(tryingOut ? LOOPBACK : [])],
    allowHttp: tryingOut,
  });
};

/** Calls to identity providers. */
export const providerFetch = (config: Config): Fetch =>
  guardedFetch(serviceHttp(config.SSO_ALLOWED_NETWORKS, config), PROVIDER_LIMITS);

/** Calls to a URL that the operator of the platform sets: any address is allowed, including loopback. */
export const upstreamHttp = ({ guardedHttp }: Adapters): OutboundHttp =>
  guardedHttp({ allowedNetworks: ['0.0.0.0/0', '::/0'], allowHttp: true });

/** Calls to the URL in `AUDIT_HEADS`. */
export const auditHeadsHttp = (config: Config): OutboundHttp =>
  serviceHttp(config.AUDIT_HEADS_ALLOWED_NETWORKS, config);

const OPENED_NETWORKS = [
  'WEBHOOK_ALLOWED_NETWORKS',
  'SSO_ALLOWED_NETWORKS',
  'AUDIT_HEADS_ALLOWED_NETWORKS',
] as const;

/** Logs a warning for each non-empty list of allowed networks, and when webhooks may be sent without TLS. */
export const warnOfOpenings = (config: Config, logger: Logger): void => {
  for (const name of OPENED_NETWORKS) {
    const networks = config[name];
    if (networks.length > 0) logger.warn({ networks }, `${name}: calls to these networks are allowed`);
  }
  if (config.WEBHOOK_ALLOW_HTTP) {
    logger.warn({}, 'WEBHOOK_ALLOW_HTTP: webhooks may be sent unencrypted over plain http');
  }
};
