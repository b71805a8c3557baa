import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { Client } from '../../../client/src/index.ts';
import { useClient } from './client.tsx';
import { problemText } from './problem.tsx';
import type { Key } from './reads.ts';
import { toast } from './toasts.tsx';

interface ActionOptions<R> {
  /** Prefixes of the query keys to invalidate. */
  readonly invalidates?: readonly Key[];
  /** Shown when the write is done. */
  readonly done?: string | ((result: R) => string);
}

interface Action<V, R> {
  /** Shows an error as a toast. */
  readonly mutate: (variables: V) => void;
  /** Rejects with an error, which the caller shows. */
  readonly mutateAsync: (variables: V) => Promise<R>;
  readonly isPending: boolean;
  readonly error: Error | null;
}

/** A write: invalidates queries and shows a toast with the result. */
export const useAction = <V = void, R = unknown>(
  run: (client: Client, variables: V) => Promise<R>,
  { invalidates = [], done }: ActionOptions<R> = {},
): Action<V, R> => {
  const client = useClient();
  const queries = useQueryClient();
  const action = useMutation({
    mutationFn: (variables: V) => run(client, variables),
    onSuccess: async (result) => {
      if (done !== undefined) toast(typeof done === 'function' ? done(result) : done);
      await Promise.all(invalidates.map((queryKey) => queries.invalidateQueries({ queryKey })));
    },
  });
  return {
    ...action,
    mutate: (variables) => {
      action.mutateAsync(variables).catch((error: unknown) => toast(problemText(error), 'danger'));
    },
  };
};
