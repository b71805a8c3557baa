import { experience } from './quiet.ts';

/** `quiet-child.ts <port> <seconds>`: prints the measured experience as JSON. */
const [port, seconds] = process.argv.slice(2).map(Number);
if (port === undefined || seconds === undefined) throw new Error('quiet-child.ts <port> <seconds>');
process.stdout.write(JSON.stringify(await experience(port, seconds)));
process.exit(0);
