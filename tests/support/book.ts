import { z } from 'zod';
import type { Command, PriorAttempt } from '../../application/core/commands/command.ts';
import type { RequestContext } from '../../application/core/commands/request-context.ts';
import type { Cause } from '../../application/core/events/event-codec.ts';
import { DomainError } from '../../domain/core/errors.ts';
import { defineEvent, type EventOf } from '../../domain/core/event.ts';
import type { StreamType } from '../../domain/core/stream-type.ts';

/** An aggregate for tests: a book that numbers its entries without a gap, and may be closed. */
export const EntryWritten = defineEvent(
  'EntryWritten',
  z.object({ entry: z.string(), number: z.number().int(), text: z.string() }),
);
export const SecretWritten = defineEvent(
  'SecretWritten',
  z.object({ entry: z.string(), number: z.number().int(), text: z.string() }),
  { personal: { text: { kind: 'message', id: 'entry' } } },
);
export const BookClosed = defineEvent('BookClosed', z.object({}));
export const BookReopened = defineEvent('BookReopened', z.object({}));

export const bookEvents = [EntryWritten, SecretWritten, BookClosed, BookReopened] as const;
export type BookEvent = EventOf<(typeof bookEvents)[number]>;

export interface Book {
  readonly count: number;
  readonly closed: boolean;
}

export const bookStream: StreamType<Book, BookEvent> = {
  category: 'book',
  stateVersion: 1,
  initial: { count: 0, closed: false },
  evolve: (state, event) => {
    if (event.type === 'BookClosed') return { ...state, closed: true };
    if (event.type === 'BookReopened') return { ...state, closed: false };
    return { ...state, count: state.count + 1 };
  },
};

export const causeOf = (causationId: string): Cause => ({
  actor: { kind: 'user', id: 'ann' },
  correlationId: `request-${causationId}`,
  causationId,
});

/** The context of an attempt of a keyed request that needs no new ids; each attempt has the same context. */
export const keyedContext = (causationId: string): RequestContext => ({
  cause: causeOf(causationId),
  priorAttempt: { since: 0 },
  newId: () => 'unused',
});

const base = (causationId: string, book: string) => ({
  tenantId: 'acme',
  type: bookStream,
  id: book,
  cause: causeOf(causationId),
});

/** Writes one entry with the next number. @throws `conflict` while the book is closed */
export const write = (
  entry: string,
  options: {
    book?: string;
    text?: string;
    secret?: boolean;
    isNew?: boolean;
    priorAttempt?: PriorAttempt | undefined;
  } = {},
): Command<Book, BookEvent> => ({
  ...base(entry, options.book ?? 'one'),
  priorAttempt: options.priorAttempt,
  isNew: options.isNew,
  decide: (state) => {
    if (state.closed) throw new DomainError('conflict', 'The book is closed.');
    return [
      {
        type: options.secret === true ? 'SecretWritten' : 'EntryWritten',
        data: { entry, number: state.count + 1, text: options.text ?? entry },
      },
    ];
  },
});

export const close = (book = 'one'): Command<Book, BookEvent> => ({
  ...base('closing', book),
  decide: (state) => (state.closed ? [] : [{ type: 'BookClosed', data: {} }]),
});

export const reopen = (book = 'one'): Command<Book, BookEvent> => ({
  ...base('opening', book),
  decide: (state) => (state.closed ? [{ type: 'BookReopened', data: {} }] : []),
});

export const BOOK = 'acme.book-one';
