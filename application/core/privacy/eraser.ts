import type { Subscriber } from '../subscriptions/subscriber.ts';
import { ERASING, type Erasures } from './erasures.ts';

/**
 * Destroys keys of deleted messages, forgotten people and deleted webhooks, in case the process crashed before the
 * request destroyed them. `Erasures.reapply` does the same at each start.
 */
export const eraser = (deps: { readonly erasures: Pick<Erasures, 'apply'> }): Subscriber => ({
  name: 'eraser',
  types: ERASING,
  handle: (event) => deps.erasures.apply(event),
});
