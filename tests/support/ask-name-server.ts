import dns from 'node:dns/promises';
import { syncBuiltinESMExports } from 'node:module';

/** Loaded before a server under test (`--import`): names are asked of the test's name server, not of the machine's. */
const server = process.env.TEST_NAME_SERVER;
if (server !== undefined) {
  class Resolver extends dns.Resolver {
    constructor(options?: ConstructorParameters<typeof dns.Resolver>[0]) {
      super(options);
      this.setServers([server ?? '']);
    }
  }
  Object.assign(dns, { Resolver });
  syncBuiltinESMExports();
}
