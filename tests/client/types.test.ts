import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { API_TYPES, apiTypes } from '../../client/generate.ts';
import { endWorld, sharedWorld } from '../support/world.ts';

describe('The types of the client', () => {
  after(endWorld);

  it('are those of the served document; `npm run client:types` writes them', async () => {
    const { anybody } = await sharedWorld();
    const { text } = await anybody.get('/openapi.json');
    expect((await apiTypes(text)) === readFileSync(API_TYPES, 'utf8')).to.equal(true);
  });
});
