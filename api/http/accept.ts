import Negotiator from 'negotiator';

const JSON_TYPE = 'application/json;charset=utf-8';
const HTML_TYPE = 'text/html;charset=utf-8';

/** Characters of `Accept` that are parsed: far more than browsers send. */
const MAX_ACCEPT_LENGTH = 2_000;

/** Whether a client prefers HTML to JSON; false without `Accept`, or when it only has the wildcard for all types. */
export const prefersHtml = (accept: string | undefined): boolean =>
  accept !== undefined &&
  new Negotiator({ headers: { accept: accept.slice(0, MAX_ACCEPT_LENGTH) } }).mediaType([
    JSON_TYPE,
    HTML_TYPE,
  ]) === HTML_TYPE;
