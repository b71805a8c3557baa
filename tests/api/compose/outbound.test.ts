import { expect } from 'chai';
import { providerFetch, warnOfOpenings } from '../../../api/compose/outbound.ts';
import { readConfig } from '../../../infrastructure/config.ts';
import { rejection } from '../../support/eventually.ts';
import { listen, stopProviders } from '../../support/identity-provider.ts';
import { KEYS } from '../../support/server.ts';

const config = (variables: Readonly<Record<string, string>> = {}) => readConfig({ ...KEYS, ...variables });

describe('Calls to identity providers', () => {
  after(stopProviders);

  it('may reach loopback outside production only', async () => {
    let visits = 0;
    const { origin } = await listen((_request, response) => {
      visits += 1;
      response.end('here');
    });
    const local = origin.replace('127.0.0.1', 'localhost');
    for (const url of [origin, local]) {
      expect(await (await providerFetch(config())(url, {})).text()).to.equal('here');
    }
    for (const url of [origin, origin.replace('http:', 'https:'), local]) {
      const fetched = providerFetch(config({ NODE_ENV: 'production' }));
      expect(await rejection(fetched(url, {})), url).to.be.instanceOf(TypeError);
    }
    expect(visits).to.equal(2);
  });

  it('may reach the allowed networks by https, and no other networks', async () => {
    const { origin } = await listen((_request, response) => response.end('not by TLS'));
    const messageOf = async (url: string, networks: string): Promise<string> => {
      const fetched = providerFetch(config({ NODE_ENV: 'production', SSO_ALLOWED_NETWORKS: networks }));
      return String(await rejection(fetched(url, {})));
    };
    const secure = origin.replace('http:', 'https:');
    const refusal = 'TypeError: Calls to this address are not allowed.';
    expect(await messageOf(secure, '127.0.0.0/8')).to.equal('TypeError: No secure connection could be made.');
    expect(await messageOf(secure, '10.0.0.0/8')).to.equal(refusal);
    for (const inside of ['https://169.254.169.254/', 'https://192.168.0.1/', 'https://[::1]/']) {
      expect(await messageOf(inside, '10.0.0.0/8'), inside).to.equal(refusal);
    }
    expect(await messageOf(origin, '127.0.0.0/8')).to.equal('TypeError: The URL must begin with https://.');
  });
});

describe('Networks opened for outbound calls', () => {
  const warningsOf = (variables: Readonly<Record<string, string>>): [object, string][] => {
    const lines: [object, string][] = [];
    const other = (): never => {
      throw new Error('not a warning');
    };
    const logger = {
      debug: other,
      info: other,
      error: other,
      warn: (fields: object, message: string) => void lines.push([fields, message]),
    };
    warnOfOpenings(config(variables), logger);
    return lines;
  };

  it('are logged at start, one line each', () => {
    expect(warningsOf({})).to.deep.equal([]);
    const lines = warningsOf({
      WEBHOOK_ALLOWED_NETWORKS: '10.0.0.0/8,fd00::/8',
      WEBHOOK_ALLOW_HTTP: '1',
      SSO_ALLOWED_NETWORKS: '172.16.0.0/12',
      AUDIT_HEADS_ALLOWED_NETWORKS: '192.168.0.0/16',
    });
    expect(lines.map(([, message]) => message.split(':')[0])).to.deep.equal([
      'WEBHOOK_ALLOWED_NETWORKS',
      'SSO_ALLOWED_NETWORKS',
      'AUDIT_HEADS_ALLOWED_NETWORKS',
      'WEBHOOK_ALLOW_HTTP',
    ]);
    expect(lines[0]?.[0]).to.deep.equal({ networks: ['10.0.0.0/8', 'fd00::/8'] });
  });
});
