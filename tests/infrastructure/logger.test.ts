import { expect } from 'chai';
import { createLogger } from '../../infrastructure/logger.ts';

describe('The logger', () => {
  it('writes JSON lines, and never a credential', () => {
    const lines: string[] = [];
    const logger = createLogger('info', { write: (line) => lines.push(line) });
    const hush = 'hush-hush';
    logger.info({ authorization: hush, password: hush, token: hush, request_id: 'r1' }, 'one');
    logger.info(
      {
        body: { password: hush, token: hush, kept: 1 },
        req: { headers: { authorization: hush, cookie: hush } },
      },
      'two',
    );
    logger.debug({}, 'not at this level');
    logger.error({ err: new Error('why') }, 'three');
    expect(lines).to.have.length(3);
    expect(lines.join('')).not.to.contain(hush);
    const first: unknown = JSON.parse(lines[0] ?? '');
    expect(first).to.include({ level: 'info', msg: 'one', request_id: 'r1', password: '[redacted]' });
    expect(first)
      .to.have.property('time')
      .that.matches(/^\d{4}-.*Z$/);
    expect(lines[2]).to.contain('why').and.to.contain('logger.test.ts');
  });
});
