import { useSyncExternalStore } from 'react';
import { getSessions, onSessions, type Sessions } from './store.ts';

/** In its own file, so that tests can import the store without React. */
export const useSessions = (): Sessions => useSyncExternalStore(onSessions, getSessions);
