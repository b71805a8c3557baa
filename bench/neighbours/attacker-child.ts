import { attacks, Loud } from './attacks.ts';

/** `attacker-child.ts <port> <attack>`: attacks until SIGTERM. */
const [port, name] = process.argv.slice(2);
const stop = new AbortController();
process.on('SIGTERM', () => {
  stop.abort();
  // Does not wait for open requests.
  setTimeout(() => process.exit(0), 500);
});
// Sockets that do not read keep no process alive.
setInterval(() => undefined, 60_000);
const chosen = name === 'all' ? attacks : attacks.filter((attack) => attack.name === name);
if (chosen.length === 0) throw new Error(`no attack is named ${name}`);
await Promise.all(chosen.map((attack) => attack.run(new Loud(Number(port)), stop.signal)));
process.exit(0);
