import type { Subscriber } from '../subscriptions/subscriber.ts';
import { ERASING, type Erasures } from './erasures.ts';

/**
 * Destroys keys of deleted messages and forgotten people. The request destroys them before it answers; this subscriber
 * covers a crash in between, and `Erasures.reapply` does at each start.
 */
export const eraser = (deps: { readonly erasures: Pick<Erasures, 'apply'> }): Subscriber => ({
  name: 'eraser',
  types: ERASING,
  handle: (event) => deps.erasures.apply(event),
});
