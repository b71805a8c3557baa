import type { EventCodec } from '../core/events/event-codec.ts';
import { logPages } from '../core/events/log-pages.ts';
import { ERASING } from '../core/privacy/erasures.ts';
import type { HeadStore } from '../ports/audit-heads.ts';
import { type EventStore, type Position, StoreUnavailable } from '../ports/event-store.ts';
import type { ReadStore } from '../ports/read-store.ts';
import type { KeyCheck } from './key-check.ts';
import { type Finding, LogCheck } from './log-check.ts';

const PAGE = 500;

/**
 * Checks the log up to its present end, then checks keys, kept hashes of streams and subscribers' checkpoints against
 * it.
 * @param report called with each finding
 */
export const checkLog = async (
  deps: {
    readonly events: EventStore;
    readonly codec: EventCodec;
    /** Undefined: keys are not checked. */
    readonly keys: KeyCheck | undefined;
    /** Undefined when no hashes of streams are kept. */
    readonly heads: HeadStore | undefined;
    readonly reads: ReadStore;
    readonly isNext: (before: Position | undefined, position: Position) => boolean;
  },
  report: (finding: Finding) => void,
): Promise<Pick<LogCheck, 'events' | 'streams' | 'position'>> => {
  const { events, codec, keys, heads, reads, isNext } = deps;
  const log = new LogCheck({ codec, isNext });
  const end = await events.end();
  let last: Position | undefined;
  try {
    for await (const page of end === undefined ? [] : logPages(events, { until: end, limit: PAGE })) {
      for (const event of page) for (const finding of log.take(event)) report(finding);
      for (const finding of (await keys?.take(page)) ?? []) report(finding);
      last = page.at(-1)?.position;
    }
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
    const what = `the log after ${last ?? 'its beginning'}`;
    report({ kind: 'unreadable_log', what, message: error.message });
    return log;
  }
  if (keys !== undefined) {
    await noteErasuresAfter(end, events, keys);
    for (const finding of await keys.end()) report(finding);
  }
  if (heads !== undefined) await checkKeptHashes(heads, events, log, report);
  await checkSubscribers(reads, events, report);
  return log;
};

/** Records erasures after the checked part of the log, since texts erased during the check have lost their keys. */
const noteErasuresAfter = async (
  end: Position | undefined,
  events: EventStore,
  keys: KeyCheck,
): Promise<void> => {
  if (!keys.hasUnexplainedMisses) return;
  for await (const page of logPages(events, { from: end, filter: { types: ERASING }, limit: PAGE })) {
    for (const event of page) await keys.noteErased(event);
    if (!keys.hasUnexplainedMisses) return;
  }
};

/** Checks that each kept hash belongs to its event. Reads the event only if `log` ends its stream with another. */
const checkKeptHashes = async (
  heads: HeadStore,
  events: EventStore,
  log: LogCheck,
  report: (finding: Finding) => void,
): Promise<void> => {
  await heads.read('', async (page) => {
    for (const { stream, revision, hash } of page) {
      const last = log.lastRevision(stream);
      if (last?.revision === revision && last.hash === hash) continue;
      const what = `${stream}@${revision}`;
      const [event] = await events.readStream(stream, { from: revision, limit: 1 });
      if (event?.revision !== revision) {
        const message = 'It is missing, although its hash is stored as the head of the stream.';
        report({ kind: 'missing_event', what, message });
      } else if (!event.metadata.includes(`"hash":"${hash}",`)) {
        const message =
          'It, or an earlier event of its stream, was changed: its hash is not the one stored as the head of the stream.';
        report({ kind: 'changed_event', what, message });
      }
    }
  });
};

const checkSubscribers = async (
  reads: ReadStore,
  events: EventStore,
  report: (finding: Finding) => void,
): Promise<void> => {
  const found = await reads.subscriberCheckpoints();
  const end = (await events.end()) ?? '';
  for (const [name, position] of found) {
    if (events.parsePosition(position) !== undefined && position <= end) continue;
    const message = 'Its checkpoint is not a position of the log.';
    report({ kind: 'wrong_checkpoint', what: `subscriber ${name}`, message });
  }
};
