/** Types of the parts of `oidc-provider` that the tests use; the package has none. */
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http';

  export interface Grant {
    addOIDCScope(scope: string): void;
    save(): Promise<string>;
  }

  export interface Context {
    readonly oidc: {
      readonly client: { readonly clientId: string };
      readonly session: {
        readonly accountId: string;
        grantIdFor(clientId: string): string | undefined;
      };
      readonly provider: {
        readonly Grant: (new (of: {
          clientId: string;
          accountId: string;
        }) => Grant) & { find(id: string): Promise<Grant | undefined> };
      };
    };
  }

  export default class Provider {
    constructor(issuer: string, configuration: object);
    callback(): (request: IncomingMessage, response: ServerResponse) => void;
    interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>;
    on(event: string, listener: (...values: readonly unknown[]) => void): this;
  }
}
