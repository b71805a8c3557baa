import { useEffect, useEffectEvent, useState } from 'react';
import type { Envelope, SocketState } from '../../../client/src/index.ts';
import { liveHub } from '../session/live.ts';
import { getSessions } from '../session/store.ts';
import { batches } from './batches.ts';

interface LiveOptions {
  /** Envelopes in their order, at most four times a second. */
  readonly onEnvelopes: (envelopes: readonly Envelope[]) => void;
  /** Something was missed: invalidate what is shown. */
  readonly onGap?: () => void;
}

/** Envelopes of messages and notifications, across lost connections. Pages of a tenant only. */
export const useLive = ({ onEnvelopes, onGap }: LiveOptions): void => {
  const give = useEffectEvent(onEnvelopes);
  const miss = useEffectEvent(() => onGap?.());
  useEffect(() => {
    const { tenant } = getSessions();
    if (tenant === undefined) return;
    const collected = batches<Envelope>((items, dropped) => {
      if (dropped > 0) miss();
      give(items);
    });
    const stop = liveHub(tenant).listen({
      onEnvelope: (envelope) => collected.push([envelope]),
      onGap: miss,
    });
    return () => {
      stop();
      collected.end();
    };
  }, []);
};

/** The state of the socket. It is open as long as a part of the page asks. */
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
