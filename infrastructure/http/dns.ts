import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { codeOf } from '../error-code.ts';

/**
 * All addresses of a name as text; empty when it has none.
 * @throws when the look-up fails
 */
export type Resolve = (name: string, signal: AbortSignal) => Promise<readonly string[]>;

interface NameSources {
  /** Name servers to use instead of the machine's, as `address:port`. */
  readonly servers?: readonly string[];
  readonly hostsFile?: string;
}

/** Codes of a definite answer that the name has no addresses. */
const NOTHING: ReadonlySet<unknown> = new Set(['ENODATA', 'ENOTFOUND', 'EBADNAME']);

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
 * Reads the hosts file, then asks the machine's name servers, uncached. Unlike `dns.lookup`, a query holds no thread of
 * the pool, can be aborted, and ignores search domains, which would change the name.
 */
export const nameServers =
  ({ servers, hostsFile = '/etc/hosts' }: NameSources = {}): Resolve =>
  async (name, signal) => {
    const absolute = name.replace(/\.$/, '');
    // RFC 6761: these names are loopback and never looked up.
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
