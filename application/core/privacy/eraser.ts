import type { Subscriber } from '../subscriptions/subscriber.ts';
import { ERASING, type Erasures } from './erasures.ts';

/**
 * Destroys keys of deleted messages and forgotten people. The request also destroys them, before it answers; this
 * subscriber does so if the process crashed first. `Erasures.reapply` does so at each start.
 */
export const eraser = (deps: { readonly erasures: Pick<Erasures, 'apply'> }): Subscriber => ({
  name: 'eraser',
  types: ERASING,
  handle: (event) => deps.erasures.apply(event),
});
