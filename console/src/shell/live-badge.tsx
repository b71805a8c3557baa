import type { SocketState } from '../../../client/src/index.ts';
import { useLiveState } from '../kit/use-live.ts';

const TEXT: Readonly<Record<SocketState['kind'], string>> = {
  connecting: 'Connecting',
  ready: 'Live',
  waiting: 'Reconnecting',
  closed: 'Not live',
};

/** Shows whether the page is updated live. */
export const LiveBadge = () => {
  const state = useLiveState();
  return (
    <span className="live" data-state={state.kind} role="status">
      {TEXT[state.kind]}
    </span>
  );
};
