import { join } from 'node:path';
import { z } from 'zod';
import { packNewEvents } from '../../infrastructure/event-store/sqlite/schema.ts';
import { type AdminCommand, optionsOf, printNote, Refusal } from './command.ts';
import { existingData } from './data-checks.ts';

/** Makes the embedded log store new events in packed form (decision 72). */
export const packLog: AdminCommand = {
  name: 'pack-log',
  usage: '',
  summary:
    'Store new events of the embedded log in a third of the space. Earlier versions cannot read the log afterwards.',
  run: async (args) => {
    optionsOf(args, z.object({}));
    const config = existingData();
    if (config.EVENTSTORE_URL !== undefined)
      throw new Refusal('EVENTSTORE_URL is set: the log is not embedded, so it cannot be packed.');
    const isNew = packNewEvents(join(config.DATA_DIR, 'events.db'));
    printNote(isNew ? 'New events are packed from now on.' : 'New events were packed already.');
  },
};
