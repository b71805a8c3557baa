import { noteSecrets } from './log-check.ts';
import { cleanUp, eventually, startServer } from './server.ts';

/** Run only by `log-check.test.ts`: a real server whose output includes a line with `PLANTED`. */
describe('A server that logs a given text', () => {
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
