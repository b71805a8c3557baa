import { type UseMutationResult, useMutation, useQueryClient } from '@tanstack/react-query';
import type { Client } from '../../../client/src/index.ts';
import { useClient } from './client.tsx';
import { problemText } from './problem.tsx';
import type { Key } from './reads.ts';
import { toast } from './toasts.tsx';

interface ActionOptions<R> {
  /** Prefixes of the query keys to invalidate. */
  readonly invalidates?: readonly Key[];
  /** Shown when it is done. */
  readonly done?: string | ((result: R) => string);
  /** `silent`: the caller shows the error; default: a toast. */
  readonly errors?: 'toast' | 'silent';
}

/** A write: invalidates queries and shows a toast with the result or the error. */
export const useAction = <V = void, R = unknown>(
  run: (client: Client, variables: V) => Promise<R>,
  { invalidates = [], done, errors = 'toast' }: ActionOptions<R> = {},
): UseMutationResult<R, Error, V> => {
  const client = useClient();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (variables: V) => run(client, variables),
    onSuccess: async (result) => {
      if (done !== undefined) toast(typeof done === 'function' ? done(result) : done);
      await Promise.all(invalidates.map((queryKey) => queries.invalidateQueries({ queryKey })));
    },
    onError: (error) => {
      if (errors === 'toast') toast(problemText(error), 'danger');
    },
  });
};
