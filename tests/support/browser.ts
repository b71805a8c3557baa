import type { Client } from './client.ts';

/** The parts of a browser that a sign-in needs: redirects in order, and cookies by host and path. */

interface Cookie {
  readonly host: string;
  readonly path: string;
  readonly name: string;
  readonly value: string;
}

export interface Page {
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
  /** The target of a redirect. */
  readonly location: string | undefined;
  readonly text: string;
  readonly json: unknown;
}

const under = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);

export class Browser {
  /** Writable, for tests that steal, change or lose cookies. */
  cookies: Cookie[] = [];
  readonly #product: Client;
  readonly #base: () => string;

  /** @param product checks the answers against the document */
  constructor(product: Client, base: () => string) {
    this.#product = product;
    this.#base = base;
  }

  /** Sends one request and returns any answer. */
  async visit(url: string): Promise<Page> {
    const { host, pathname, origin, search } = new URL(url);
    const sent = this.cookies.filter((each) => each.host === host && under(pathname, each.path));
    const cookie = sent.map(({ name, value }) => `${name}=${value}`).join('; ');
    const headers = cookie === '' ? {} : { cookie };
    const answer =
      origin === this.#base()
        ? await this.#product.get(pathname + search, { headers, redirect: 'manual' })
        : await fetched(url, headers);
    for (const line of answer.headers.getSetCookie()) this.#keep(host, line);
    const location = answer.headers.get('location');
    return {
      url,
      status: answer.status,
      headers: answer.headers,
      location: location === null ? undefined : new URL(location, url).href,
      text: answer.text,
      json: 'json' in answer ? answer.json : undefined,
    };
  }

  /** Follows redirects until an answer is no redirect, or until `stop` accepts the next address. */
  async follow(url: string, stop: (url: string) => boolean = () => false): Promise<Page> {
    let page = await this.visit(url);
    for (let hops = 0; page.location !== undefined && !stop(page.location); hops += 1) {
      if (hops > 20) throw new Error('too many redirects');
      page = await this.visit(page.location);
    }
    return page;
  }

  #keep(host: string, line: string): void {
    const [pair = '', ...attributes] = line.split(';').map((part) => part.trim());
    const at = pair.indexOf('=');
    const [name, value] = [pair.slice(0, at), pair.slice(at + 1)];
    const attribute = (wanted: string): string | undefined =>
      attributes.find((each) => each.toLowerCase().startsWith(`${wanted}=`))?.slice(wanted.length + 1);
    const path = attribute('path') ?? '/';
    this.cookies = this.cookies.filter(
      (each) => each.host !== host || each.name !== name || each.path !== path,
    );
    const expires = attribute('expires');
    const gone = attribute('max-age') === '0' || (expires !== undefined && Date.parse(expires) < Date.now());
    if (!gone) this.cookies.push({ host, path, name, value });
  }
}

const fetched = async (url: string, headers: Record<string, string>) => {
  const response = await fetch(url, { headers, redirect: 'manual' });
  return { status: response.status, headers: response.headers, text: await response.text() };
};
