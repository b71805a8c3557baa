import type { Subscriber } from '../../application/subscriber.ts';
import { emailClaimer } from '../../application/subscribers/email-claimer.ts';
import { eraser } from '../../application/subscribers/eraser.ts';
import { mentionNotifier } from '../../application/subscribers/mention-notifier.ts';
import type { Core } from './core.ts';

/** Every subscriber of the product; each runs on one node at a time, under a lease. */
export const composeSubscribers = (core: Core): readonly Subscriber[] => {
  const { commands, states, keys, emailHash } = core;
  return [
    mentionNotifier({ commands, states, keys }),
    eraser({ keys }),
    emailClaimer({ commands, keys, emailHash }),
  ];
};
