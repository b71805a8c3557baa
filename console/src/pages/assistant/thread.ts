import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { components } from '../../../../client/src/index.ts';

export type Citation = components['schemas']['AssistantAnswer']['retrieved_chunks'][number];

export interface Turn {
  readonly key: number;
  readonly question: string;
  /** Undefined while it is pending, and after a failure. */
  readonly reply?: string;
  readonly sources?: readonly Citation[];
  readonly error?: unknown;
}

const KEY = ['assistant-thread'] as const;

/** Maximum of earlier messages that the API accepts. */
const MOST = 50;

/** The turns, kept in memory until the person signs out or reloads: the server stores none of them. */
export const useThread = (): [
  readonly Turn[],
  (change: (turns: readonly Turn[]) => readonly Turn[]) => void,
] => {
  const queries = useQueryClient();
  const [turns, setTurns] = useState<readonly Turn[]>(() => {
    queries.setQueryDefaults(KEY, { gcTime: Number.POSITIVE_INFINITY });
    const kept = queries.getQueryData<readonly Turn[]>(KEY) ?? [];
    // A question that was pending when the page was left has failed, so that the person can ask it again.
    return kept.map((turn) =>
      turn.reply === undefined && turn.error === undefined
        ? { ...turn, error: new Error('You left the page before the answer arrived.') }
        : turn,
    );
  });
  const change = (edit: (turns: readonly Turn[]) => readonly Turn[]): void =>
    setTurns((present) => {
      const next = edit(present);
      queries.setQueryData(KEY, next);
      return next;
    });
  return [turns, change];
};

/** The last answered turns in the format of the API; turns without an answer are left out. */
export const historyOf = (turns: readonly Turn[]) =>
  turns
    .flatMap(({ question, reply }) =>
      reply === undefined
        ? []
        : [
            { role: 'user' as const, content: question },
            { role: 'assistant' as const, content: reply },
          ],
    )
    .slice(-MOST);
