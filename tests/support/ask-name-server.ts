import dns from 'node:dns/promises';
import { syncBuiltinESMExports } from 'node:module';

/** Loaded by a server under test (`--import`): resolves names by the test's name server instead of the machine's. */
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
