import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';

/**
 * All addresses of a name, as text; none when it has none.
 * @throws when nobody could tell
 */
export type Resolve = (name: string, signal: AbortSignal) => Promise<readonly string[]>;

export interface NameSources {
  /** Instead of the machine's, as `address:port`. */
  readonly servers?: readonly string[];
  readonly hostsFile?: string;
}

/** The answer is that there is none. */
const NOTHING: ReadonlySet<unknown> = new Set(['ENODATA', 'ENOTFOUND', 'EBADNAME']);

const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined;

const inHosts = async (file: string, name: string): Promise<readonly string[]> => {
  const text = await readFile(file, 'utf8').catch(() => '');
  const found = new Set<string>();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = (line.split('#')[0] ?? '').trim().split(/\s+/);
    if (names.some((known) => known.toLowerCase() === name)) found.add(address);
  }
  return [...found];
};

/**
 * Looks into the hosts file, then asks the name servers of this machine, anew each time. Not `dns.lookup`: that one
 * waits in the few threads which files and hashes need too, cannot be stopped, and tries the search domains, which makes
 * another name of the name.
 */
export const nameServers =
  ({ servers, hostsFile = '/etc/hosts' }: NameSources = {}): Resolve =>
  async (name, signal) => {
    const absolute = name.replace(/\.$/, '');
    // RFC 6761: such names mean this machine and are never asked for.
    if (/(^|\.)localhost$/.test(absolute)) return ['127.0.0.1', '::1'];
    const written = await inHosts(hostsFile, absolute);
    if (written.length > 0) return written;
    signal.throwIfAborted();
    const resolver = new Resolver({ timeout: 2_000, tries: 2 });
    if (servers !== undefined) resolver.setServers(servers);
    const stop = (): void => resolver.cancel();
    signal.addEventListener('abort', stop, { once: true });
    try {
      const answers = await Promise.allSettled([resolver.resolve4(absolute), resolver.resolve6(absolute)]);
      const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
      if (found.length > 0) return found;
      for (const answer of answers) {
        if (answer.status === 'rejected' && !NOTHING.has(codeOf(answer.reason))) throw answer.reason;
      }
      return [];
    } finally {
      signal.removeEventListener('abort', stop);
    }
  };
