import { Observable } from '../rxjs.ts';

/** Emits once and completes when the signal aborts; at once if it is aborted already. */
export const abortOf = (signal: AbortSignal): Observable<void> =>
  new Observable((observer) => {
    const stop = (): void => {
      observer.next();
      observer.complete();
    };
    if (signal.aborted) return stop();
    signal.addEventListener('abort', stop);
    return () => signal.removeEventListener('abort', stop);
  });
