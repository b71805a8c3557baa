import { isDeepStrictEqual } from 'node:util';
import { strictJson } from './strict-json.ts';

/** One line of an export, and whether its views match the stored texts. */
export interface ExportedEvent {
  readonly position: string;
  readonly stream: string;
  readonly revision: number;
  readonly id: string;
  readonly type: string;
  /** The stored texts. */
  readonly data: string;
  readonly metadata: string;
  readonly viewAgrees: boolean;
}

const MEMBERS = ['position', 'stream', 'revision', 'id', 'type', 'data', 'metadata', 'sealed'];
const SEALED_MEMBERS = ['data', 'metadata'];

/** Undefined for a line that is not an event. */
export const eventOf = (line: string): ExportedEvent | undefined => {
  const event = strictJson(line);
  if (!isObject(event) || !hasOnly(event, MEMBERS)) return undefined;
  const { position, stream, revision, id, type, sealed } = event;
  if (!isText(position) || !isText(stream) || !isText(id) || !isText(type)) return undefined;
  if (typeof revision !== 'number' || !Number.isSafeInteger(revision) || revision < 0) return undefined;
  if (!isObject(sealed) || !hasOnly(sealed, SEALED_MEMBERS)) return undefined;
  const { data, metadata } = sealed;
  if (!isText(data) || !isText(metadata)) return undefined;
  const viewAgrees =
    dataAgrees(event.data, strictJson(data)) &&
    isDeepStrictEqual(event.metadata, strictJson(metadata) ?? null);
  return { position, stream, revision, id, type, data, metadata, viewAgrees };
};

type Json = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const hasOnly = (value: Json, names: readonly string[]): boolean =>
  Object.keys(value).length === names.length && names.every((name) => Object.hasOwn(value, name));

/** Refuses lone surrogates, which have no bytes in UTF-8 that could be hashed. */
const isText = (value: unknown): value is string => typeof value === 'string' && value.isWellFormed();

const SEALED_TEXT = /^v1:[^:]+:[A-Za-z0-9+/=]*$/;

/** Whether a view matches the stored data. Any text matches a sealed text, since comparing them needs the key. */
const dataAgrees = (view: unknown, stored: unknown): boolean => {
  if (!isObject(stored)) return view === null;
  if (!isObject(view)) return false;
  const names = Object.keys(stored);
  if (Object.keys(view).length !== names.length) return false;
  return names.every((name) => {
    const value = stored[name];
    if (!Object.hasOwn(view, name)) return false;
    if (typeof value === 'string' && SEALED_TEXT.test(value)) return typeof view[name] === 'string';
    return view[name] === value || isDeepStrictEqual(view[name], value);
  });
};
