import { useSyncExternalStore } from 'react';
import { getSessions, onSessions, type Sessions } from './store.ts';

/** Apart from the store, so that tests import the store without React. */
export const useSessions = (): Sessions => useSyncExternalStore(onSessions, getSessions);
