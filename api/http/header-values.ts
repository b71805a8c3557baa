import type { IncomingMessage } from 'node:http';

/**
 * All values of a request header. `headers` drops or joins repeated values, and `headersDistinct` builds lists of all
 * headers of every request.
 * @param name in lower case
 */
export const headerValues = ({ rawHeaders }: IncomingMessage, name: string): readonly string[] => {
  const values: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [given = '', value = ''] = [rawHeaders[at], rawHeaders[at + 1]];
    if (given.length === name.length && given.toLowerCase() === name) values.push(value);
  }
  return values;
};
