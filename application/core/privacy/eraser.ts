import type { Subscriber } from '../subscriptions/subscriber.ts';
import { ERASING, type Erasures } from './erasures.ts';

/**
 * Destroys the keys of deleted messages and of people who were forgotten. The request does so before it answers; this
 * makes good what a crash in between left while other processes go on. Each start does it for whatever the log says
 * (application/core/privacy/erasures.ts).
 */
export const eraser = (deps: { readonly erasures: Pick<Erasures, 'apply'> }): Subscriber => ({
  name: 'eraser',
  types: ERASING,
  handle: (event) => deps.erasures.apply(event),
});
