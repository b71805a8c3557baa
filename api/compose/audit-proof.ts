import { HeadKeeper } from '../../application/audit/head-keeper.ts';
import { Replay } from '../../application/audit/replay.ts';
import { Sealer } from '../../application/audit/sealer.ts';
import type { LeaseOptions } from '../../application/lease-holder.ts';
import type { HeadSink } from '../../application/ports/audit-heads.ts';
import { catalogue } from '../../domain/catalogue.ts';
import { isTenantId } from '../../domain/tenancy/tenant.ts';
import { folderSink, urlSink } from '../../infrastructure/audit/head-sinks.ts';
import { headSigner } from '../../infrastructure/audit/signing-key.ts';
import type { Config } from '../../infrastructure/config.ts';
import type { Core } from './core.ts';
import { auditHeadsHttp } from './outbound.ts';

/** Replay of a tenant's events, and the sealed heads that prove it. */
export interface AuditProofArea {
  readonly replay: Replay;
  readonly sealer: Sealer;
  /** Undefined where nothing is signed: nobody would ask for a head. */
  readonly headKeeper: HeadKeeper | undefined;
}

const sinkOf = (config: Config): HeadSink | undefined => {
  const { AUDIT_HEADS: place } = config;
  if (place === undefined) return undefined;
  return /^https?:/.test(place) ? urlSink(place, auditHeadsHttp(config)) : folderSink(place);
};

export const composeAuditProof = ({ config, stores, keys, clock, logger }: Core): AuditProofArea => {
  const { events, heads } = stores;
  const signer = headSigner(config);
  if (signer === undefined) logger.warn({}, 'AUDIT_SIGNING_KEY is not set: heads are not sealed');
  const headKeeper = new HeadKeeper({ events, heads, logger });
  return {
    replay: new Replay({ events, catalogue, keys }),
    headKeeper: signer === undefined ? undefined : headKeeper,
    sealer: new Sealer({
      keeper: headKeeper,
      heads,
      signer,
      sink: sinkOf(config),
      clock,
      logger,
      isTenant: isTenantId,
    }),
  };
};

/** On every node: heads are kept where they are signed, and handed out. */
export const runAuditHeads = (
  { headKeeper, sealer }: AuditProofArea,
  signal: AbortSignal,
): readonly Promise<void>[] => [headKeeper?.run(signal) ?? Promise.resolve(), sealer.deliver(signal)];

/** On one node at a time: seals what has changed. */
export const runAuditSeals = (
  { sealer }: AuditProofArea,
  lease: LeaseOptions,
  signal: AbortSignal,
): Promise<void> => sealer.run(lease, signal);
