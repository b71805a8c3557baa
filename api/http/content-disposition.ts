/** Characters that RFC 8187 lets stand in an extended value; all others are percent-encoded. */
const NOT_PLAIN = /['()*]/g;

const extended = (text: string): string =>
  encodeURIComponent(text).replaceAll(
    NOT_PLAIN,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/**
 * `Content-Disposition` of a download (RFC 6266): a plain name for old readers, in which nothing can end the quotes or
 * be taken for an escape, and the true name beside it where the two differ.
 * @param filename well-formed
 */
export const attachment = (filename: string): string => {
  const plain = filename.replaceAll(/[^\x20-\x7e]|["\\%/]/gu, '_');
  const simple = `attachment; filename="${plain}"`;
  return plain === filename ? simple : `${simple}; filename*=UTF-8''${extended(filename)}`;
};
