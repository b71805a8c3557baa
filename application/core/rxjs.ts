/**
 * The parts of rxjs that the product uses, each from its own file. The package's index would load all files of rxjs in
 * each thread that follows the log (decision 44).
 */
export { BehaviorSubject } from 'rxjs/internal/BehaviorSubject';
export { firstValueFrom } from 'rxjs/internal/firstValueFrom';
export { lastValueFrom } from 'rxjs/internal/lastValueFrom';
export { Observable } from 'rxjs/internal/Observable';
export { concat } from 'rxjs/internal/observable/concat';
export { defer } from 'rxjs/internal/observable/defer';
export { EMPTY } from 'rxjs/internal/observable/empty';
export { merge } from 'rxjs/internal/observable/merge';
export { of } from 'rxjs/internal/observable/of';
export { throwError } from 'rxjs/internal/observable/throwError';
export { timer } from 'rxjs/internal/observable/timer';
export { audit } from 'rxjs/internal/operators/audit';
export { catchError } from 'rxjs/internal/operators/catchError';
export { concatMap } from 'rxjs/internal/operators/concatMap';
export { exhaustMap } from 'rxjs/internal/operators/exhaustMap';
export { filter } from 'rxjs/internal/operators/filter';
export { finalize } from 'rxjs/internal/operators/finalize';
export { first } from 'rxjs/internal/operators/first';
export { map } from 'rxjs/internal/operators/map';
export { mergeMap } from 'rxjs/internal/operators/mergeMap';
export { type RetryConfig, retry } from 'rxjs/internal/operators/retry';
export { share } from 'rxjs/internal/operators/share';
export { switchMap } from 'rxjs/internal/operators/switchMap';
export { takeUntil } from 'rxjs/internal/operators/takeUntil';
export { takeWhile } from 'rxjs/internal/operators/takeWhile';
export { tap } from 'rxjs/internal/operators/tap';
export { timeout } from 'rxjs/internal/operators/timeout';
export { Subject } from 'rxjs/internal/Subject';
