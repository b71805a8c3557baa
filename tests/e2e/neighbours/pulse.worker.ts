import { Agent, get } from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';

/** Requests `/health/live` continuously on one connection, in a thread that a busy test does not delay. */

const PAUSE_MS = 10;

const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const taken: number[] = [];

const ask = (): Promise<void> =>
  new Promise((resolve, reject) => {
    const began = performance.now();
    get(`${String(workerData)}/health/live`, { agent }, (response) => {
      response.resume();
      response.once('end', () => {
        taken.push(performance.now() - began);
        resolve();
      });
    }).once('error', reject);
  });

let running = true;
parentPort?.once('message', () => {
  running = false;
});

await ask();
taken.length = 0;
parentPort?.postMessage('begun');
while (running) {
  await ask();
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
}
parentPort?.postMessage(taken);
agent.destroy();
