import { createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

/** Certificates of an authority for tests, encoded as DER (RFC 5280). */

const der = (tag: number, ...parts: readonly Uint8Array[]): Buffer => {
  const content = Buffer.concat(parts);
  const { length } = content;
  if (length < 128) return Buffer.concat([Buffer.from([tag, length]), content]);
  return Buffer.concat([Buffer.from([tag, 0x82, length >> 8, length & 255]), content]);
};

const SEQUENCE = 0x30;
const sequence = (...parts: readonly Uint8Array[]): Buffer => der(SEQUENCE, ...parts);
const integer = (bytes: Uint8Array): Buffer => der(0x02, bytes);
const bits = (bytes: Uint8Array): Buffer => der(0x03, Buffer.from([0]), bytes);
const object = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));

const ECDSA_WITH_SHA256 = sequence(object('2a8648ce3d040302'));
const COMMON_NAME = object('550403');
const ALTERNATIVE_NAMES = object('551d11');
const BASIC_CONSTRAINTS = object('551d13');

const named = (name: string): Buffer =>
  sequence(der(0x31, sequence(COMMON_NAME, der(0x0c, Buffer.from(name)))));

const time = (at: number): Buffer => {
  const text = new Date(at).toISOString().replace(/\.\d+|[-:T]/g, '');
  return der(0x18, Buffer.from(text));
};

const alternative = (host: string): Buffer =>
  /^\d+\.\d+\.\d+\.\d+$/.test(host)
    ? der(0x87, Buffer.from(host.split('.').map(Number)))
    : der(0x82, Buffer.from(host));

const HOUR = 3_600_000;

interface Wanted {
  readonly subject: string;
  readonly issuer: string;
  readonly publicKey: KeyObject;
  readonly signedWith: KeyObject;
  readonly extension: Buffer;
  readonly until: number;
}

const certificate = ({ subject, issuer, publicKey, signedWith, extension, until }: Wanted): string => {
  const content = sequence(
    der(0xa0, integer(Buffer.from([2]))),
    // A first byte of 1 makes the number positive and unpadded.
    integer(Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ECDSA_WITH_SHA256,
    named(issuer),
    sequence(time(Date.now() - 48 * HOUR), time(until)),
    named(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(extension)),
  );
  const whole = sequence(content, ECDSA_WITH_SHA256, bits(sign('sha256', content, signedWith)));
  return `-----BEGIN CERTIFICATE-----\n${whole.toString('base64').replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`;
};

const keys = () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  return { privateKey, publicKey, pem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
};

export interface Authority {
  /** PEM. */
  readonly certificate: string;
  /** Issues a certificate for names and IPv4 addresses. */
  issue(hosts: readonly string[], until?: number): { readonly key: string; readonly cert: string };
}

export const makeAuthority = (name: string): Authority => {
  const own = keys();
  const signedWith = createPrivateKey(own.pem);
  const isAuthority = sequence(
    BASIC_CONSTRAINTS,
    der(0x01, Buffer.from([255])),
    der(0x04, sequence(der(0x01, Buffer.from([255])))),
  );
  return {
    certificate: certificate({
      subject: name,
      issuer: name,
      publicKey: own.publicKey,
      signedWith,
      extension: isAuthority,
      until: Date.now() + HOUR,
    }),
    issue: (hosts, until = Date.now() + HOUR) => {
      const { publicKey, pem } = keys();
      const extension = sequence(ALTERNATIVE_NAMES, der(0x04, sequence(...hosts.map(alternative))));
      return {
        key: pem,
        cert: certificate({ subject: hosts[0] ?? '', issuer: name, publicKey, signedWith, extension, until }),
      };
    },
  };
};
