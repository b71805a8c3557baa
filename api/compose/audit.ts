import { ActivityLog } from '../../application/audit/activity-log.ts';
import { EventExport } from '../../application/audit/event-export.ts';
import { HeadKeeper } from '../../application/audit/head-keeper.ts';
import { HeadSigner } from '../../application/audit/head-signer.ts';
import { TimeTravel } from '../../application/audit/time-travel.ts';
import type { HeadSink } from '../../application/ports/audit-heads.ts';
import { catalogue } from '../../domain/catalogue.ts';
import { isTenantId } from '../../domain/tenancy/tenant.ts';
import { folderSink, urlSink } from '../../infrastructure/audit/head-sinks.ts';
import { headSigner } from '../../infrastructure/audit/signing-key.ts';
import type { Config } from '../../infrastructure/config.ts';
import { auditRoutes } from '../routes/audit/audit.ts';
import { auditProofRoutes } from '../routes/audit/audit-proof.ts';
import type { Area } from './area.ts';
import type { Core } from './core.ts';
import { auditHeadsHttp } from './outbound.ts';

const sinkOf = (config: Config): HeadSink | undefined => {
  const { AUDIT_HEADS: place } = config;
  if (place === undefined) return undefined;
  return /^https?:/.test(place) ? urlSink(place, auditHeadsHttp(config)) : folderSink(place);
};

/** Activity log, export of events, time travel, and the signed heads that prove a log. */
export const composeAudit = (core: Core) => {
  const { config, logger, metrics } = core;
  const { heads } = core.stores;
  const signer = headSigner(config);
  if (signer === undefined) logger.warn({}, 'AUDIT_SIGNING_KEY is not set: heads are not signed');
  const headKeeper = new HeadKeeper({ ...core, heads });
  const auditSigner = new HeadSigner({
    ...core,
    keeper: headKeeper,
    heads,
    signer,
    sink: sinkOf(config),
    isTenant: isTenantId,
  });
  metrics.atScrape(() => metrics.headAge(auditSigner.age === undefined ? undefined : auditSigner.age / 1000));
  const activityLog = new ActivityLog({ ...core, types: catalogue.map(({ type }) => type) });
  const eventExport = new EventExport({ ...core, catalogue });
  const timeTravel = new TimeTravel(core);
  const deps = { ...core, activityLog, eventExport, auditSigner, timeTravel };
  return {
    timeTravel,
    routes: [...auditRoutes(deps), ...auditProofRoutes(deps)],
    // Any process may have to sign heads, on request or in rounds, so each process with a signing key keeps stream
    // hashes. Each process delivers waiting heads if there is a sink.
    everywhere: (signal) => [
      ...(signer === undefined ? [] : [headKeeper.run(signal)]),
      auditSigner.deliver(signal),
    ],
    background: (lease, signal) => auditSigner.run(lease, signal),
    // Open exports end before the server closes its connections.
    closing: () => eventExport.stop(),
  } satisfies Area & Record<string, unknown>;
};

export type AuditArea = ReturnType<typeof composeAudit>;
