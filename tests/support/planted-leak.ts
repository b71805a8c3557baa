import { noteSecrets } from './log-check.ts';
import { cleanUp, eventually, startServer } from './server.ts';

/** Run by `log-check.test.ts` alone: a real server, and beside its own lines one with `PLANTED`. */
describe('A server that writes what it is told', () => {
  after(cleanUp);

  it('passes by itself', async () => {
    const planted = process.env.PLANTED ?? '';
    noteSecrets({ password: 'an-api-key-of-old' });
    const script = `console.log(${JSON.stringify(JSON.stringify({ msg: `planted ${planted}` }))})`;
    const server = await startServer({
      env: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(script)}` },
    });
    await eventually('the line', () => server.output().includes('planted'));
    await server.stop();
  });
});
