import { isIP } from 'node:net';
import { z } from 'zod';

/** Kinds of values of environment variables. A message follows the variable's name and never holds a value. */

const numeric = (kind: string, form: RegExp) => (min: number, max: number, fallback: number) => {
  const message = `must be ${kind} from ${min} to ${max}`;
  return z
    .string()
    .regex(form, message)
    .transform(Number)
    .refine((value) => value >= min && value <= max, message)
    .default(fallback);
};
export const whole = numeric('a whole number', /^[0-9]{1,15}$/);
export const number = numeric('a number', /^[0-9]{1,10}(\.[0-9]{1,6})?$/);

export const flag = z
  .enum(['0', '1', 'true', 'false'], 'must be 0 or 1')
  .transform((value) => value === '1' || value === 'true');

/** Returns a new schema for each variable, since descriptions are kept by schema. */
export const text = () => z.string().optional();

export const oneOf = <const V extends readonly [string, ...string[]]>(...values: V) =>
  z.enum(values, `must be ${values.slice(0, -1).join(', ')} or ${values.at(-1)}`);

export const url = (protocols: readonly string[], message: string) =>
  z.string().refine((value) => protocols.includes(URL.parse(value)?.protocol ?? ''), message);

/** Whether an authority follows the scheme. */
export const hasHost = (value: string): boolean => /^[^:]+:\/\/([^@/?#]*@)?[^@/?#]+([/?#]|$)/.test(value);

export const httpUrl = url(['http:', 'https:'], 'must be an http or https URL');

/** A URL for guarded calls, which refuse every URL with a user name or password. */
const called = httpUrl.refine((value) => {
  const found = URL.parse(value);
  return !found?.username && !found?.password;
}, 'must not contain a user name or password');

export const calledUrl = () => called.clone().optional();

/** Returns a new schema, which refuses texts for which `fault` returns a message. */
export const without = (fault: (value: string) => string | undefined) =>
  z
    .string()
    .superRefine((value, context) => {
      const message = fault(value);
      if (message !== undefined) context.addIssue({ code: 'custom', message });
    })
    .optional();

export const hasScheme = (value: string): boolean => /^[a-z][a-z0-9+.-]*:\/\//i.test(value);

/** A {@link calledUrl}, or the path of a folder. Refuses other schemes, which would be taken for a folder's name. */
export const folderOrUrl = () =>
  without((value) => {
    if (!hasScheme(value)) return undefined;
    if (!/^https?:/i.test(value)) return 'must be a folder or an http or https URL';
    return called.safeParse(value).error?.issues[0]?.message;
  });

/** A token as the header `Authorization` takes it. */
export const bearer = () =>
  z
    .string()
    .regex(/^[\x21-\x7e]+$/, 'must be printable characters without spaces')
    .optional();

/** Scheme, host and port alone. */
export const origin = httpUrl
  .transform((value) => new URL(value))
  .refine(
    (found) => found.href === `${found.origin}/`,
    'must be only scheme, host and port, such as https://platform.example',
  )
  .transform((found) => found.origin);

export const secret = () =>
  z
    .string()
    .refine((value) => Buffer.byteLength(value) >= 32, 'must have at least 32 bytes')
    .optional();

/** @param least smallest prefix length; Express refuses a network of all addresses (`/0`) */
const isNetwork = (value: string, least = 0): boolean => {
  const [address = '', bits = '', ...rest] = value.split('/');
  const widest = isIP(address) === 4 ? 32 : 128;
  if (isIP(address) === 0 || address.includes('%') || rest.length > 0) return false;
  return /^[0-9]{1,3}$/.test(bits) && Number(bits) >= least && Number(bits) <= widest;
};

const list = (value: string): string[] => value.split(',').map((part) => part.trim());

export const networks = () =>
  z
    .string()
    .transform(list)
    .refine(
      (found) => found.every((each) => isNetwork(each)),
      'must be a list of networks such as 10.0.0.0/8',
    )
    .default([]);

/** Undefined for a text with invalid percent-encoding. */
export const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
};

/** `name=value` pairs with commas between, percent-encoded, as OpenTelemetry specifies. */
export const pairs = () =>
  z
    .string()
    .transform((value, context): Readonly<Record<string, string>> => {
      const found: Record<string, string> = {};
      for (const part of list(value).filter((each) => each !== '')) {
        const [, name, text] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+) *= *(.*)$/.exec(part) ?? [];
        const plain = decoded(text ?? '');
        // Control characters would break a header.
        if (name === undefined || plain === undefined || /[^ -~]/.test(plain)) {
          context.addIssue({ code: 'custom', message: 'must be pairs such as name=value,other=value' });
          return z.NEVER;
        }
        found[name] = plain;
      }
      return found;
    })
    .optional();

const isOrigin = (text: string): boolean =>
  /^https?:$/.test(URL.parse(text)?.protocol ?? '') && URL.parse(text)?.origin === text;

/** Origins as browsers send them: scheme, host and port alone. */
export const origins = z
  .string()
  .transform(list)
  .refine(
    (found) => found.every(isOrigin),
    'must be a list of origins such as https://app.example: only scheme, host and port, no *',
  )
  .default([]);

/** Longest delay (s): thirty days. */
const LONGEST_DELAY = 2_592_000;

export const fourDelays = z
  .string()
  .regex(
    /^ *[0-9]+(\.[0-9]+)?( *, *[0-9]+(\.[0-9]+)?){3} *$/,
    'must be four numbers of seconds, separated by commas',
  )
  .transform((value) => list(value).map(Number))
  .refine(
    (found) => found.every((delay) => delay <= LONGEST_DELAY),
    `must be four numbers of seconds up to ${LONGEST_DELAY}`,
  );

/** Values of Express's `trust proxy`: a flag, a number of hops, or addresses and networks. */
export const trustProxy = z
  .string()
  .transform((value): boolean | number | string => {
    if (value === 'true' || value === 'false') return value === 'true';
    return /^[0-9]{1,3}$/.test(value) ? Number(value) : value;
  })
  .refine(
    (value) =>
      typeof value !== 'string' ||
      list(value).every(
        (part) =>
          ['loopback', 'linklocal', 'uniquelocal'].includes(part) || isIP(part) !== 0 || isNetwork(part, 1),
      ),
    'must be true, false, a number of proxies, or a list of addresses and networks',
  );
