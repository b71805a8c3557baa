import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { endWorld } from '../world.ts';
import { recordExamples } from './record.ts';
import { recordServed, startServedWorld } from './served.ts';

/** `npm run openapi:examples`: reads `openapi.json` of `npm run openapi`, and writes the examples of the document. */
const root = join(import.meta.dirname, '../../..');
const document: unknown = JSON.parse(await readFile(join(root, 'openapi.json'), 'utf8'));
const { operations: told, errors, events } = await recordExamples(document);
const operations = { ...told, ...(await recordServed(await startServedWorld())) };
await endWorld();
const file = join(root, 'api/openapi/examples.json');
await writeFile(file, `${JSON.stringify({ operations, errors, events }, undefined, 2)}\n`);
process.stdout.write(`${Object.keys(operations).length} operations\n`);
process.exit(0);
