import { readFileSync } from 'node:fs';
import { Parser } from '@asyncapi/parser';

/** Prints what the parser finds in the document, as a JSON list of messages. */
const { document, diagnostics } = await new Parser().parse(readFileSync(process.argv[2], 'utf8'));
const found = diagnostics.map(({ severity, message, path }) => `${severity} ${path.join('/')}: ${message}`);
if (document === undefined) found.push('no document');
process.stdout.write(JSON.stringify(found));
