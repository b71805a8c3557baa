import { spawn } from 'node:child_process';
import { createPublicKey, verify } from 'node:crypto';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { headSigner } from '../../../infrastructure/audit/signing-key.ts';
import { readConfig } from '../../../infrastructure/config.ts';
import { admin, MAIN } from '../../support/admin-cli.ts';
import { OF_CHILDREN, startAndExit } from '../../support/server.ts';

const variablesIn = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/^([A-Z_]+)=(.+)$/gm)].map(([, name = '', value = '']) => [name, value]),
  );

describe('npm run admin -- secrets', () => {
  it('prints a complete new set for production, and the public key for auditors', async () => {
    const [one, other] = await Promise.all([admin(['secrets'], {}), admin(['secrets'], {})]);
    expect([one.code, other.code]).to.deep.equal([0, 0]);
    const made = variablesIn(one.stdout);
    const config = readConfig({ ...made, NODE_ENV: 'production' });
    expect(Object.values(made).filter((value) => other.stdout.includes(value))).to.deep.equal([]);
    const publicKey = /^ +(\S{60})$/m.exec(one.stderr)?.[1] ?? '';
    const signature = headSigner(config)?.sign('a head') ?? '';
    const key = createPublicKey({ key: Buffer.from(publicKey, 'base64'), format: 'der', type: 'spki' });
    expect(verify(null, Buffer.from('a head'), key, Buffer.from(signature, 'base64'))).to.equal(true);
    expect(one.stderr).to.contain('--public-key');
  });
});

describe('npm run admin -- config', () => {
  it('prints the effective configuration without secrets, and warns of a misspelled name', async () => {
    const key = 'k'.repeat(40);
    const env = { PORT: '4000', MASTER_KEY: key, RATE_LIMIT_PER_MINUT: '5' };
    const { code, stdout, stderr } = await admin(['config'], env);
    expect(code, stderr).to.equal(0);
    expect(stdout.split('\n')).to.include.members(['PORT=4000', 'MASTER_KEY=***', '# HOST=127.0.0.1']);
    expect(stderr).to.contain('Did you mean RATE_LIMIT_PER_MINUTE?');
    expect(stdout + stderr).not.to.contain(key);
  });

  it('ends with 1 and one sentence when nobody reads its output', async () => {
    const child = spawn(process.execPath, [MAIN, 'config'], { env: OF_CHILDREN });
    child.stdout.destroy();
    const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    expect([code, stderr]).to.deep.equal([1, 'The command failed: write EPIPE\n']);
  });

  it('ends with 1 and every reason when a server would not start', async () => {
    const { code, stderr } = await admin(['config'], { NODE_ENV: 'production', PORT: 'x' });
    expect(code).to.equal(1);
    expect(stderr.match(/ must be set in production\./g)).to.have.length(5);
    expect(stderr).to.contain('PORT must be');
  });
});

describe('A start with several wrong variables', () => {
  it('ends with one sentence for each', async () => {
    const env = { NODE_ENV: 'production', PORT: '99999', ROLE: 'boss', MASTER_KEY: undefined };
    const { code, output } = await startAndExit(env);
    expect(code).to.equal(1);
    expect(output.trim().split('\n')).to.deep.equal([
      'PORT must be a whole number from 0 to 65535.',
      'ROLE must be api, worker or all.',
      'MASTER_KEY must be set in production.',
    ]);
  });
});
