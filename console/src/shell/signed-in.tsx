import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { useState } from 'react';
import { Router } from 'wouter';
import { ConfirmProvider } from '../kit/confirm.tsx';
import { RenewDialog } from '../session/renew.tsx';
import type { Sessions } from '../session/store.ts';
import { Shell } from './shell.tsx';

/** Does not retry: the API client already does. */
const newQueries = (): QueryClient =>
  new QueryClient({
    defaultOptions: { queries: { retry: false, staleTime: 5_000, refetchOnWindowFocus: true } },
  });

/** The console after the sign-in: a chunk that the sign-in page preloads but does not run. */
const SignedIn = ({ sessions }: { sessions: Sessions }) => {
  const [queries] = useState(newQueries);
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
