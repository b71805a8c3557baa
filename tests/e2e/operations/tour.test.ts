import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { cleanUp, startServer } from '../../support/server.ts';

/** The README's tour, pasted into a shell. */
const README = readFileSync('README.md', 'utf8');

const blocks = [...README.matchAll(/<!-- tour -->\n```sh\n([\s\S]*?)```/g)].map((match) => match[1] ?? '');

describe('The tour in the README', () => {
  after(cleanUp);

  it('works when pasted: the envelope arrives, the unread count rises, the bell rings, reading resets it', async () => {
    const server = await startServer({
      env: { DEMO: '1', PLATFORM_ADMIN_EMAIL: undefined, PLATFORM_ADMIN_PASSWORD: undefined },
    });
    const passwordOf = (role: string): string =>
      new RegExp(`demo ${role}\\s+\\S+\\s+(\\S+)`).exec(server.output())?.[1] ?? '';
    const script = [
      `ADA_PASSWORD='${passwordOf('admin')}'`,
      `BEN_PASSWORD='${passwordOf('operator')}'`,
      ...blocks,
    ]
      .join('\n')
      .replaceAll('127.0.0.1:3000', new URL(server.base).host);
    const { stdout } = await promisify(execFile)('bash', ['-c', script]);

    expect(blocks.length).to.equal(6);
    expect(stdout).to.match(/Ben is [0-9a-f-]{36}\n/);
    expect(stdout).to.contain('Ben sees {"kind":"system","event":"ready"');
    expect(stdout).to.match(/Ben sees \{"kind":"message","event":"created"[^\n]*shall we begin\?/);
    expect(stdout).to.match(/Ben sees \{"kind":"notification","event":"created"[^\n]*message_mention/);
    expect(stdout).to.contain('"unread_count":1');
    expect(stdout).to.match(/"snippet":"Hello @Ben Demo, shall we begin\?"/);
    expect(stdout.lastIndexOf('"unread_count":0')).to.be.greaterThan(stdout.lastIndexOf('"unread_count":1'));

    expect(stdout).to.match(/"error":"guard_rejected"[^\n]*"guard":"worth it"/);
    expect(stdout).to.match(/"entity_name":"offer"[^\n]*"state":"won","final":true/);
    expect(stdout, 'filtered, and read with the API token').to.match(
      /\n\[\{[^\n]*"title":"Lyon"[^\n]*"state":"won"[^\n]*\n[\s\S]*\n\[\{[^\n]*"title":"Lyon"/,
    );
    expect(stdout).to.match(/"action":"job_transitioned"[^\n]*"email":"ada@demo.example"/);
    expect(stdout).to.match(/"error":"scope_missing"[^\n]*"required":"data:write"/);
  });
});
