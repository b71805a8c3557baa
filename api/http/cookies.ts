/** Cookies of the few routes that a browser calls by itself. */

/** The value of a cookie; of several with the same name (RFC 6265, section 5.4: the most specific path first) the first. */
export const cookieIn = (header: string | undefined, name: string): string | undefined => {
  for (const pair of header?.split(';') ?? []) {
    const at = pair.indexOf('=');
    if (at > 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim();
  }
  return undefined;
};

/** A `Set-Cookie` for one path that scripts do not see; an age of 0 takes the cookie away. */
export const setCookie = (cookie: {
  readonly name: string;
  readonly value: string;
  readonly path: string;
  readonly maxAgeSeconds: number;
  readonly secure: boolean;
}): string => {
  const { name, value, path, maxAgeSeconds, secure } = cookie;
  const rest = `Path=${path}; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`;
  return `${name}=${value}; ${rest}`;
};
