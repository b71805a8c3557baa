import { join } from 'node:path';
import { z } from 'zod';
import { packNewEvents } from '../../infrastructure/event-store/sqlite/schema.ts';
import { type AdminCommand, optionsOf, Refusal, say } from './command.ts';
import { existingData } from './data-checks.ts';

/** Makes the embedded log store new events in packed form (decision 72). */
export const packLog: AdminCommand = {
  name: 'pack-log',
  usage: '',
  summary: 'lets the embedded log store new events in a third of the room; former builds cannot read it then',
  run: async (args) => {
    optionsOf(args, z.object({}));
    const config = existingData();
    if (config.EVENTSTORE_URL !== undefined)
      throw new Refusal('EVENTSTORE_URL names the log: it is not embedded.');
    const isNew = packNewEvents(join(config.DATA_DIR, 'events.db'));
    say(isNew ? 'New events are packed from now on.' : 'New events are packed already.');
  },
};
