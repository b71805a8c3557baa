import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { useMemo } from 'react';
import { Router } from 'wouter';
import { ConfirmProvider } from '../kit/confirm.tsx';
import { RenewDialog } from '../session/renew.tsx';
import type { Sessions } from '../session/store.ts';
import { Shell } from './shell.tsx';

export interface SignedInProps {
  readonly sessions: Sessions;
  /** Identifies person and tenant; a change starts with an empty query cache. */
  readonly audience: string;
}

/** Does not retry: the API client already does. */
const newQueries = (): QueryClient =>
  new QueryClient({
    defaultOptions: { queries: { retry: false, staleTime: 5_000, refetchOnWindowFocus: true } },
  });

/** The console after the sign-in: a chunk that the sign-in page preloads but does not run. */
const SignedIn = ({ sessions, audience }: SignedInProps) => {
  // biome-ignore lint/correctness/useExhaustiveDependencies: another audience gets another cache
  const queries = useMemo(newQueries, [audience]);
  return (
    <QueryClientProvider client={queries}>
      <Router base="/console">
        <ConfirmProvider>
          <Shell sessions={sessions} />
          <RenewDialog />
        </ConfirmProvider>
      </Router>
    </QueryClientProvider>
  );
};

export default SignedIn;
