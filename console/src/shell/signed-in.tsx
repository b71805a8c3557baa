import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { useMemo } from 'react';
import { Router } from 'wouter';
import { ConfirmProvider } from '../kit/confirm.tsx';
import { RenewDialog } from '../session/renew.tsx';
import type { Sessions } from '../session/store.ts';
import { Shell } from './shell.tsx';

export interface SignedInProps {
  readonly sessions: Sessions;
  /** Whose data is on the page: another person or tenant begins with empty caches. */
  readonly audience: string;
}

/** The client has already tried again. */
const newQueries = (): QueryClient =>
  new QueryClient({
    defaultOptions: { queries: { retry: false, staleTime: 5_000, refetchOnWindowFocus: true } },
  });

/** All that the sign-in does without. */
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
