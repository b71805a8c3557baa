import { useEffect, useEffectEvent, useState } from 'react';
import type { Envelope, SocketState } from '../../../client/src/index.ts';
import { liveHub } from '../session/live.ts';
import { getSessions } from '../session/store.ts';
import { batches } from './batches.ts';

interface LiveOptions {
  /** Envelopes in their order, at most four times a second. */
  readonly onEnvelopes: (envelopes: readonly Envelope[]) => void;
  /** Envelopes may have been missed: invalidate the data shown. */
  readonly onGap?: () => void;
}

/** Envelopes of messages and notifications, across lost connections. Pages of a tenant only. */
export const useLive = ({ onEnvelopes, onGap }: LiveOptions): void => {
  const deliver = useEffectEvent(onEnvelopes);
  const reportGap = useEffectEvent(() => onGap?.());
  useEffect(() => {
    const { tenant } = getSessions();
    if (tenant === undefined) return;
    const collected = batches<Envelope>((items, dropped) => {
      if (dropped > 0) reportGap();
      deliver(items);
    });
    const stop = liveHub(tenant).listen({
      onEnvelope: (envelope) => collected.push([envelope]),
      onGap: reportGap,
    });
    return () => {
      stop();
      collected.end();
    };
  }, []);
};

/** The state of the socket, which is open while any part of the page listens. */
export const useLiveState = (): SocketState => {
  const [state, setState] = useState<SocketState>({ kind: 'connecting' });
  useEffect(() => {
    const { tenant } = getSessions();
    if (tenant === undefined) return;
    const hub = liveHub(tenant);
    const stop = hub.listen({ onState: setState });
    setState(hub.state);
    return stop;
  }, []);
  return state;
};
