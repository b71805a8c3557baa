import { benchFanOut } from './fan-out.ts';
import { benchPostMessage } from './post-message.ts';
import type { Line } from './report.ts';

/** What `npm run bench` measures, in its order. `scale` multiplies sizes and times. */
export const figures: readonly { readonly name: string; readonly run: (scale: number) => Promise<Line[]> }[] = [
  { name: 'post', run: benchPostMessage },
  { name: 'fan-out', run: benchFanOut },
];
