import { Identity } from '../../application/identity.ts';
import type { Subscriber } from '../../application/subscriber.ts';
import { emailClaimer } from '../../application/subscribers/email-claimer.ts';
import { emailReleaser } from '../../application/subscribers/email-releaser.ts';
import { eraser } from '../../application/subscribers/eraser.ts';
import { firstAdmin } from '../../application/subscribers/first-admin.ts';
import { mentionNotifier } from '../../application/subscribers/mention-notifier.ts';
import type { App } from '../routes/app.ts';
import { assistantSubscribers } from './assistant.ts';
import type { Core } from './core.ts';
import { entitySubscribers } from './entities.ts';
import { fileSubscribers } from './files.ts';
import { formSubscribers } from './forms.ts';
import { ledgerSubscribers } from './ledger.ts';
import { webhookSubscribers } from './webhooks.ts';

/** Every subscriber of the product; each runs on one node at a time, under a lease. */
export const composeSubscribers = (core: Core, app: App): readonly Subscriber[] => {
  const { commands, states, keys, emailHash, directory, passwords } = core;
  return [
    mentionNotifier({ commands, states, keys }),
    eraser({ erasures: core.erasures }),
    emailClaimer({ commands, keys, emailHash }),
    emailReleaser({ commands, states }),
    ...fileSubscribers(core),
    ...entitySubscribers(core, app, (tenantId, name) => app.workflows.published(tenantId, name)),
    ...formSubscribers(app),
    ...ledgerSubscribers(core, app),
    ...webhookSubscribers(core, app),
    ...assistantSubscribers(core, app),
    firstAdmin({ identity: new Identity({ commands, directory, passwords, emailHash }), directory, keys }),
  ];
};
