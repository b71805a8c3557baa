import { useEffect, useEffectEvent, useState } from 'react';
import type { Client, components } from '../../../client/src/index.ts';
import { batches } from './batches.ts';
import { useClient, usePageSession } from './client.tsx';
import { pause } from './pause.ts';

type AuditEvent = components['schemas']['AuditedEvent'];

type TailState =
  /** The end of the log is looked up. */
  | { readonly kind: 'starting' }
  | { readonly kind: 'following' }
  /** A read failed. The next try begins after the last event, so that nothing is lost. */
  | { readonly kind: 'waiting'; readonly error: unknown }
  /** Not followed: the session is not of a tenant, or is an impersonation, whose reads the log records. */
  | { readonly kind: 'off' };

interface TailOptions {
  /** Events in the order of the log, at most four times a second. */
  readonly onEvents: (events: readonly AuditEvent[], dropped: number) => void;
  readonly isPaused?: boolean;
  /** Position to begin after; default: the current end. */
  readonly after?: string | undefined;
}

const PAGE = 200;
/** Interval of the reads (ms). */
const EVERY_MS = 1000;
const LONGEST_MS = 15_000;

const endOfLog = async (client: Client, signal: AbortSignal): Promise<string | undefined> => {
  // A page of the activity log may be empty although older ones are not.
  const lines = client.items('/api/v1/tenant/audit/event-log', { params: { query: { limit: 1 } }, signal });
  for await (const { position } of lines) return position;
  return undefined;
};

/** Follows the tenant's log, as an admin. After an error or a pause, resumes after the last event. */
export const useTail = ({ onEvents, isPaused = false, after }: TailOptions): TailState => {
  const client = useClient();
  const session = usePageSession();
  const isOff = session.kind !== 'tenant' || session.impersonatedBy !== undefined;
  const [state, setState] = useState<TailState>({ kind: after === undefined ? 'starting' : 'following' });
  const give = useEffectEvent(onEvents);
  /** The position of the last event that was given; events that were read and not yet given are read again. */
  const given = useState<{ at: string | undefined }>(() => ({ at: after }))[0];

  useEffect(() => {
    if (isOff || isPaused) return;
    const ending = new AbortController();
    const { signal } = ending;
    const collected = batches<AuditEvent>((events, dropped) => {
      given.at = events.at(-1)?.position ?? given.at;
      give(events, dropped);
    });
    const follow = async (): Promise<void> => {
      let failures = 0;
      let read = given.at;
      while (!signal.aborted) {
        try {
          given.at ??= await endOfLog(client, signal);
          read ??= given.at;
          const start = read === undefined ? {} : { after: read };
          const params = { query: { ...start, limit: PAGE } };
          const events = await client.get('/api/v1/tenant/audit/events', { params, signal });
          if (signal.aborted) return;
          read = events.at(-1)?.position ?? read;
          collected.push(events);
          setState((before) => (before.kind === 'following' ? before : { kind: 'following' }));
          failures = 0;
          if (events.length < PAGE) await pause(EVERY_MS, signal);
        } catch (error) {
          if (signal.aborted) return;
          failures += 1;
          setState({ kind: 'waiting', error });
          await pause(Math.min(LONGEST_MS, EVERY_MS * 2 ** failures), signal);
        }
      }
    };
    void follow();
    return () => {
      ending.abort();
      collected.end();
    };
  }, [client, isOff, isPaused, given]);

  return isOff ? { kind: 'off' } : state;
};
