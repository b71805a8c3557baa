import { Observable } from 'rxjs';

/** Emits at the abort and completes; at once where that has been already. */
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
