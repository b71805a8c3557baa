import { benchAppend } from './append.ts';
import { benchAssistantQuality } from './assistant/quality.ts';
import { benchAssistantSpeed } from './assistant/speed.ts';
import { benchAudit } from './audit.ts';
import { benchAuthentication } from './authentication.ts';
import { benchBilling } from './billing.ts';
import { benchBulk } from './bulk.ts';
import { benchFanOut } from './fan-out.ts';
import { benchLargeConversation } from './large-conversation.ts';
import { benchLedger } from './ledger.ts';
import { benchNeighbours } from './neighbours.ts';
import { benchPostMessage } from './post-message.ts';
import { benchQueries } from './queries/queries.ts';
import { benchRebuild } from './rebuild.ts';
import { type Line, perSecond } from './report.ts';
import { scaled } from './rounds.ts';
import { benchStores } from './stores.ts';
import { benchTraces } from './traces.ts';
import { benchWebhooks } from './webhooks.ts';
import { benchWorkers } from './workers.ts';

export interface Figure {
  readonly name: string;
  readonly run: (scale: number) => Promise<Line[]>;
}

const APPENDS_OF_RAW = 0.7;

const append = async (scale: number): Promise<Line[]> => {
  const { adapter, raw } = await benchAppend(64, scaled(1500, scale, 15));
  return [
    {
      figure: 'append, 64 callers, fsynced',
      value: perSecond(adapter),
      yardstick: { name: 'raw loop, transactions of 64', value: perSecond(raw) },
      target: { text: `≥ ${APPENDS_OF_RAW}`, met: adapter / raw >= APPENDS_OF_RAW },
    },
  ];
};

const benchAssistant = async (scale: number): Promise<Line[]> => [
  ...(await benchAssistantQuality(scale)),
  ...(await benchAssistantSpeed(scale)),
];

/** All figures of `npm run bench`, in order. `scale` multiplies sizes and times. */
export const figures: readonly Figure[] = [
  { name: 'append', run: append },
  { name: 'post', run: benchPostMessage },
  { name: 'workers', run: benchWorkers },
  { name: 'traces', run: benchTraces },
  { name: 'authentication', run: benchAuthentication },
  { name: 'fan-out', run: benchFanOut },
  { name: 'rebuild', run: benchRebuild },
  { name: 'large', run: benchLargeConversation },
  { name: 'ledger', run: benchLedger },
  { name: 'queries', run: benchQueries },
  { name: 'webhooks', run: benchWebhooks },
  { name: 'billing', run: benchBilling },
  { name: 'bulk', run: benchBulk },
  { name: 'assistant', run: benchAssistant },
  { name: 'audit', run: benchAudit },
  { name: 'stores', run: benchStores },
  { name: 'neighbours', run: benchNeighbours },
];
