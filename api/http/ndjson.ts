/** Chooses between JSON and NDJSON (a line per element) by `Accept`. */

export const NDJSON = 'application/x-ndjson';

/** True only if NDJSON is named and not refused; wildcards get JSON. */
export const wantsNdjson = (accept: string | undefined): boolean =>
  (accept ?? '').split(',', 100).some((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    return type === NDJSON && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
