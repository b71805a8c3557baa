import { type ComponentProps, type ReactNode, useMemo, useState } from 'react';
import { Autocomplete, type Completion } from './autocomplete.tsx';
import { type Person, usePeople } from './people.ts';

/** Mentions as the API takes them: `@[name](user:id)`. */
const TOKEN = /@\[([^[\]\r\n]{1,128})\]\(user:([A-Za-z0-9._:@|-]{1,128})\)/gu;
const MOST = 8;

/** A text of a person, with mentions as names. It is text, never markup. */
export const MentionText = ({ text, self }: { text: string; self?: string | undefined }) => {
  const parts: ReactNode[] = [];
  let end = 0;
  for (const match of text.matchAll(TOKEN)) {
    parts.push(text.slice(end, match.index));
    parts.push(
      <span key={match.index} className={match[2] === self ? 'mention mention-self' : 'mention'}>
        @{match[1]}
      </span>,
    );
    end = match.index + match[0].length;
  }
  parts.push(text.slice(end));
  return <>{parts}</>;
};

/** A name without the characters that a mention cannot hold, truncated to 128. */
const clean = (name: string): string => name.replaceAll(/[[\]\r\n]/g, ' ').slice(0, 128);

/** People by the name to type; people with the same name have their e-mail appended. */
const labelsOf = (people: readonly Person[]): ReadonlyMap<string, Person> => {
  const counts = new Map<string, number>();
  for (const { display_name } of people) counts.set(display_name, (counts.get(display_name) ?? 0) + 1);
  return new Map(
    people.map((person) => {
      const { display_name: name, email } = person;
      return [clean(counts.get(name) === 1 ? name : `${name} (${email})`), person];
    }),
  );
};

/** Converts between texts as typed, with `@name`, and as sent, with ids. */
class Mentions {
  readonly #people: ReadonlyMap<string, Person>;
  readonly #idByName: Map<string, string>;

  /** @param idByName ids of the mentions in edited texts; kept when the people are read again */
  constructor(people: readonly Person[], idByName: Map<string, string>) {
    this.#people = labelsOf(people.filter(({ status }) => status === 'active'));
    this.#idByName = idByName;
  }

  /** Converts a stored text for editing. */
  readonly shown = (body: string): string =>
    body.replaceAll(TOKEN, (_token, name: string, id: string) => {
      this.#idByName.set(name, id);
      return `@${name}`;
    });

  readonly sent = (text: string): string => {
    // Of two names with a common prefix, the longer one matches.
    const present = [...this.#people].map(([name, { id }]) => [name, id] as const);
    const names = [...new Map([...present, ...this.#idByName])].sort(
      ([one], [other]) => other.length - one.length,
    );
    let sent = '';
    for (let at = 0; at < text.length; ) {
      const found = text[at] === '@' ? names.find(([name]) => isWord(text, at + 1, name)) : undefined;
      sent += found === undefined ? text[at] : `@[${found[0]}](user:${found[1]})`;
      at += found === undefined ? 1 : found[0].length + 1;
    }
    return sent;
  };

  readonly complete = (text: string, caret: number): Completion | undefined => {
    const typed = /(?:^|\s)@([^@\n]{0,60})$/u.exec(text.slice(0, caret))?.[1];
    if (typed === undefined) return undefined;
    const wanted = typed.toLowerCase();
    const fits = (one: string): boolean =>
      one.toLowerCase().startsWith(wanted) || one.toLowerCase().includes(` ${wanted}`);
    const suggestions = [...this.#people]
      .filter(([name, { email }]) => fits(name) || email.toLowerCase().startsWith(wanted))
      .slice(0, MOST)
      .map(([name, { email }]) => ({ text: `@${name} `, label: name, detail: email }));
    return { from: caret - typed.length - 1, to: caret, suggestions };
  };
}

/** Whether the word at this place is the name, not a longer word. */
const isWord = (text: string, at: number, name: string): boolean =>
  text.startsWith(name, at) && !/^[\p{L}\p{N}]/u.test(text.slice(at + name.length));

interface MentionFieldProps
  extends Omit<ComponentProps<typeof Autocomplete>, 'complete' | 'isEager' | 'maxLength' | 'rows'> {
  readonly mentions: Mentions;
}

export const useMentions = (): Mentions => {
  const { data } = usePeople();
  const [idByName] = useState(() => new Map<string, string>());
  return useMemo(() => new Mentions(data ?? [], idByName), [data, idByName]);
};

/** A textarea in which `@` suggests people. Enter sends, Shift+Enter starts a new line. */
export const MentionField = ({ mentions, ...rest }: MentionFieldProps) => (
  <Autocomplete {...rest} rows={2} isEager maxLength={10_000} complete={mentions.complete} />
);
