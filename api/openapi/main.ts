import { writeFileSync } from 'node:fs';
import { asyncApiDocument } from './asyncapi.ts';
import { openApiDocument } from './document.ts';
import { routesWithoutServer } from './routes.ts';

/** `npm run openapi`: writes `openapi.json` and `asyncapi.json` as a server of this version would serve them. */
const routes = await routesWithoutServer();
writeFileSync('openapi.json', `${JSON.stringify(await openApiDocument(routes), undefined, 2)}\n`);
writeFileSync('asyncapi.json', `${JSON.stringify(asyncApiDocument(), undefined, 2)}\n`);
process.exit(0);
