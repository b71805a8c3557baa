import { isDeepStrictEqual } from 'node:util';

/** One line of an export: what is stored, and whether the view beside it says the same. */
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

/** As the server writes lines; whatever else is JSON of this shape is read the slow way. */
const BEGIN =
  /^\{"position":"([ !#-[\]-~]+)","stream":"([ !#-[\]-~]+)","revision":(0|[1-9]\d{0,14}),"id":"([ !#-[\]-~]+)","type":"([ !#-[\]-~]+)","data":/;
const SEALED = ',"sealed":{"data":"';
const SEALED_VALUE = ',"sealed":'.length;

/** Undefined for what is no event. */
export const eventOf = (line: string): ExportedEvent | undefined => quickly(line) ?? slowly(line);

/** Whether the whole line is JSON, and an event. */
export const isEvent = (line: string): boolean => slowly(line) !== undefined;

/**
 * Most views are the stored text itself, which is seen by comparing; only the texts under `sealed` are parsed. The last
 * place where that member can begin is its own, since no quote within a JSON text stands alone.
 */
const quickly = (line: string): ExportedEvent | undefined => {
  const begin = BEGIN.exec(line);
  const sealedAt = line.lastIndexOf(SEALED);
  if (begin === null || sealedAt < 0 || !line.endsWith('}}')) return undefined;
  const [head, position = '', stream = '', revision = '', id = '', type = ''] = begin;
  const sealed = sealedOf(parsed(line.slice(sealedAt + SEALED_VALUE, -1)));
  if (sealed === undefined) return undefined;
  const { data, metadata } = sealed;
  const views = line.slice(head.length, sealedAt);
  const metadataView = `,"metadata":${metadata}`;
  if (!views.endsWith(metadataView)) return undefined;
  const event = { position, stream, revision: Number(revision), id, type, data, metadata };
  const dataView = views.slice(0, -metadataView.length);
  if (dataView === data) return { ...event, viewAgrees: true };
  const view = parsed(dataView);
  return view === undefined ? undefined : { ...event, viewAgrees: dataAgrees(view, parsed(data)) };
};

const slowly = (line: string): ExportedEvent | undefined => {
  const event = parsed(line);
  if (!isObject(event)) return undefined;
  const { position, stream, revision, id, type } = event;
  const sealed = sealedOf(event.sealed);
  if (typeof position !== 'string' || typeof stream !== 'string' || sealed === undefined) return undefined;
  if (typeof id !== 'string' || typeof type !== 'string') return undefined;
  if (typeof revision !== 'number' || !Number.isSafeInteger(revision) || revision < 0) return undefined;
  const viewAgrees =
    dataAgrees(event.data, parsed(sealed.data)) &&
    isDeepStrictEqual(event.metadata, parsed(sealed.metadata) ?? null);
  return { position, stream, revision, id, type, ...sealed, viewAgrees };
};

type Json = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const sealedOf = (value: unknown): { data: string; metadata: string } | undefined => {
  if (!isObject(value)) return undefined;
  const { data, metadata } = value;
  if (typeof data !== 'string' || typeof metadata !== 'string') return undefined;
  // Half a surrogate pair has no bytes that could be hashed.
  return data.isWellFormed() && metadata.isWellFormed() ? { data, metadata } : undefined;
};

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

const SEALED_TEXT = /^v1:[^:]+:[A-Za-z0-9+/=]*$/;

/** A sealed text may be opened as whatever text: without its key nobody can tell. */
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
