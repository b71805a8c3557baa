/** A deliberate defect of the product: texts of a file that are replaced. */
export interface Break {
  readonly name: string;
  /** A seed that finds the defect at present, and is tried first. */
  readonly seed: number;
  /** Requests of each run that looks for the defect; default: 20. */
  readonly requests?: number;
  readonly file: string;
  readonly changes: readonly (readonly [from: string, to: string])[];
}

/** Defects that the simulation must find, one at a time. */
export const BREAKS: readonly Break[] = [
  {
    name: 'a worker that lost its lease still writes',
    seed: 69,
    file: 'infrastructure/read-store/sqlite/leases.ts',
    changes: [['if (current !== fence) throw', 'if (current === -1) throw']],
  },
  {
    name: 'a subscriber saves its progress before it handles the events',
    seed: 9,
    file: 'application/core/subscriptions/subscriber.ts',
    changes: [
      [
        'handle: (part, quantum, done) => handlePart(subscriber, options, held, part, quantum, done),',
        'handle: async (part, quantum, done) => { done(part.length); await pause(300, held); await handlePart(subscriber, options, held, part, quantum, () => undefined); },',
      ],
    ],
  },
  {
    name: 'a projection stores its checkpoint before its documents',
    seed: 5,
    file: 'application/core/projections/generation.ts',
    changes: [
      [
        '        writes: batch.writes(),\n        ...(before === undefined ? {} : { checkpoint: before }),\n      });',
        '        writes: [],\n        ...(before === undefined ? {} : { checkpoint: before }),\n      });\n      await this.deps.store.commit({ generation: this.generation, fence: this.#fence, writes: batch.writes() });',
      ],
    ],
  },
  {
    name: 'an event is folded twice into a document',
    seed: 44,
    file: 'application/core/projections/fold-batch.ts',
    changes: [
      [
        '(document.position !== undefined && document.position >= event.position)',
        '(document.position === null)',
      ],
    ],
  },
  {
    name: 'a repeated request does not look for its first try',
    seed: 6,
    file: 'application/core/commands/stream-batch.ts',
    changes: [
      [
        '      if (command.priorAttempt !== undefined) {\n        const earlier',
        '      if (command.priorAttempt !== undefined && current.revision < -5) {\n        const earlier',
      ],
    ],
  },
  {
    name: 'a subscriber skips an event that it could not handle',
    seed: 6,
    file: 'application/core/subscriptions/subscriber.ts',
    changes: [
      [
        'if (!isDone) await handledAlone(subscriber, held, logger, codec, stored, quantum);',
        'if (!isDone) await handledAlone(subscriber, held, logger, codec, stored, quantum).catch(() => undefined);',
      ],
      [
        '(await handledTogether(subscriber, subscriber.handleAll, logger, codec, part, quantum));',
        '(await handledTogether(subscriber, subscriber.handleAll, logger, codec, part, quantum).catch(() => true));',
      ],
    ],
  },
  {
    name: 'an append is acknowledged although the store did not answer',
    seed: 8,
    file: 'application/core/commands/group-commit.ts',
    changes: [
      [
        '          resolve(result);\n        }, reject),',
        "          resolve(result);\n        }, (error: unknown) => { if (error instanceof Error && error.name === 'StoreUnavailable') resolve({ revision: (typeof expected === 'number' ? expected : -1) + events.length, position: '0000000000000001' as never }); else reject(error); }),",
      ],
    ],
  },
  {
    name: 'a replay of a socket leaves out its last event',
    seed: 25,
    requests: 60,
    file: 'api/ws/replays.ts',
    changes: [['if (stored.position > until)', 'if (stored.position >= until)']],
  },
  {
    name: 'a deleted message still counts as unread',
    seed: 11,
    file: 'projections/messaging/conversations.ts',
    changes: [['unread: participant.unread - 1', 'unread: participant.unread - 0']],
  },
  {
    name: 'times of a stream go back with the clock',
    seed: 23,
    file: 'application/core/commands/stream-batch.ts',
    changes: [
      ['const now = Math.max(this.deps.clock.now(), current.at);', 'const now = this.deps.clock.now();'],
      ['const at = Math.max(event.at ?? now, next.at);', 'const at = event.at ?? now;'],
    ],
  },
  {
    name: 'deliveries have a new id each time their event is handled',
    seed: 6,
    file: 'application/webhooks/webhook-fan-out.ts',
    changes: [['subscription.id}`);', `subscription.id}\\n$` + `{performance.now()}\`);`]],
  },
  {
    name: 'entries of posting rules have a new id each time',
    seed: 13,
    file: 'application/ledger/rule-runner.ts',
    changes: [['posting rule\\n', 'posting rule ' + '$' + '{performance.now()}\\n']],
  },
  {
    name: 'a growth of the log without its events wakes nobody',
    seed: 7,
    file: 'application/core/subscriptions/log-follower.ts',
    changes: [
      [
        'events.onGrowth((growth) => observer.next(growth)),',
        'events.onGrowth((growth) => { if (growth !== undefined) observer.next(growth); }),',
      ],
    ],
  },
];
