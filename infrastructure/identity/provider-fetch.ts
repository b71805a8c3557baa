import type { CustomFetch, CustomFetchOptions } from 'openid-client';
import { ProviderUnavailable } from '../../application/ports/sso-provider.ts';
import { isLoopback } from '../../domain/tenancy/sso.ts';
import type { Fetch } from '../http/guarded-fetch.ts';

const unavailable = (why: string): ProviderUnavailable => new ProviderUnavailable(why);

/**
 * `fetch` for one exchange with a provider: one deadline for all its requests, no redirects, plain http on loopback
 * only. `trouble` keeps the reason of a failure, since libraries may wrap the error.
 */
export class ProviderFetch {
  trouble: ProviderUnavailable | undefined;
  readonly #fetch: Fetch;
  readonly #deadline: AbortSignal;

  constructor(fetch: Fetch, timeoutMs: number) {
    this.#fetch = fetch;
    this.#deadline = AbortSignal.timeout(timeoutMs);
  }

  readonly fetch: CustomFetch = async (url, options) => {
    try {
      return await this.#exchange(url, options);
    } catch (error) {
      this.trouble ??=
        error instanceof ProviderUnavailable ? error : unavailable('the provider is out of reach');
      throw this.trouble;
    }
  };

  async #exchange(url: string, options: CustomFetchOptions): Promise<Response> {
    const { protocol, hostname } = new URL(url);
    if (protocol !== 'https:' && !isLoopback(hostname)) throw unavailable('the provider wants plain http');
    const { method, headers, body, signal } = options;
    const response = await this.#fetch(url, {
      method,
      headers,
      // The library sends forms only.
      ...(body instanceof URLSearchParams ? { body } : {}),
      redirect: 'manual',
      signal: AbortSignal.any([this.#deadline, ...(signal ? [signal] : [])]),
    });
    const { status } = response;
    if (status >= 500 || status === 429 || (status >= 300 && status < 400)) {
      await response.body?.cancel();
      throw unavailable(`the provider answers ${status}`);
    }
    return response;
  }
}
