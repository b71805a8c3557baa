/** JSON, or a line of JSON for each element: which of them a client asks for. */

export const NDJSON = 'application/x-ndjson';

/** Only when it is named, and not refused: whoever takes anything is served JSON. */
export const wantsNdjson = (accept: string | undefined): boolean =>
  (accept ?? '').split(',', 100).some((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    return type === NDJSON && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
