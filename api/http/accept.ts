import Negotiator from 'negotiator';

const JSON_TYPE = 'application/json;charset=utf-8';
const HTML_TYPE = 'text/html;charset=utf-8';

/** Browsers send a tenth of this; the parser takes 30 ms for a header as long as Node lets in. */
const MAX_LENGTH = 2_000;

/** Whether a client prefers HTML to JSON; a client without an `Accept`, or with wildcards alone, gets JSON. */
export const prefersHtml = (accept: string | undefined): boolean =>
  accept !== undefined &&
  new Negotiator({ headers: { accept: accept.slice(0, MAX_LENGTH) } }).mediaType([JSON_TYPE, HTML_TYPE]) ===
    HTML_TYPE;
