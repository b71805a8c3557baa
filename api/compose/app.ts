import { Messaging } from '../../application/messaging.ts';
import { Notifications } from '../../application/notifications.ts';
import { Operations } from '../../application/operations.ts';
import type { ProjectionHost } from '../../application/projection-host.ts';
import { messageLookup } from '../message-lookup.ts';
import type { App } from '../routes/app.ts';
import type { Core } from './core.ts';
import { composeIdentity } from './identity.ts';

/** All use cases, area by area. */
export const composeApp = (core: Core, hosts: readonly ProjectionHost[]): App => {
  const { commands, directory, states, stores, codec, keys, readModels, ids } = core;
  return {
    ...composeIdentity(core),
    directory,
    messaging: new Messaging({
      commands,
      directory,
      states,
      events: stores.events,
      codec,
      keys,
      lookUpMessage: messageLookup(readModels),
    }),
    notifications: new Notifications(commands, () => stores.events.head()),
    operations: new Operations(commands, hosts),
    readModels,
    keys,
    ids,
  };
};
