import { DomainError, invalidAt } from '../../domain/core/errors.ts';
import type { OutboundHttp } from '../ports/outbound-http.ts';

/** @throws 400 for text that is not a URL, `url_refused` for a URL that calls may not reach */
export const checkedUrl = async (http: Pick<OutboundHttp, 'check'>, url: string): Promise<void> => {
  if (!URL.canParse(url)) {
    throw invalidAt('url', 'invalid_format', 'This is not a URL.');
  }
  const verdict = await http.check(url);
  if (!verdict.ok) throw new DomainError('url_refused', verdict.message, { reason: verdict.reason });
};
