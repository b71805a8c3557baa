import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import { BREAKS } from './breaks.ts';

/** Loaded before everything else with `--import`: applies the defect named in `BREAK` to the file as it is loaded. */
const broken = BREAKS.find(({ name }) => name === process.env.BREAK);
if (broken === undefined) throw new Error(`no defect is called ${process.env.BREAK}`);

registerHooks({
  load: (url, context, next) => {
    const loaded = next(url, context);
    if (!url.startsWith('file:') || !fileURLToPath(url).endsWith(`/${broken.file}`)) return loaded;
    return { ...loaded, source: applied(String(loaded.source)) };
  },
});

const applied = (source: string): string => {
  let text = source;
  for (const [from, to] of broken.changes) {
    if (!text.includes(from)) throw new Error(`${broken.file} does not hold ${from}`);
    text = text.replace(from, () => to);
  }
  return text;
};
