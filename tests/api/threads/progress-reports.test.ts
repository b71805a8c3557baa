import { expect } from 'chai';
import { ProgressReports } from '../../../api/threads/progress-reports.ts';
import type { ProjectionProgress } from '../../../api/threads/projections.ts';
import { untilPasses } from '../../support/eventually.ts';

const made = (projection: string, checkpoint: string, tag = 'v1'): ProjectionProgress => ({
  projection,
  tag,
  checkpoint,
  parked: [],
});

describe('Progress reports of projections', () => {
  const begin = () => {
    const sent: ProjectionProgress[][] = [];
    return { sent, reports: new ProgressReports((all) => sent.push(all)) };
  };

  it('are batched, and a batch has the latest report of each generation', async () => {
    const { sent, reports } = begin();
    reports.note(made('users', '1'));
    reports.note(made('tenants', '1'));
    reports.note(made('users', '2'));
    reports.note(made('users', '1', 'v2'));
    expect(sent).to.deep.equal([]);
    await untilPasses(() => expect(sent).to.have.length(1));
    expect(sent).to.deep.equal([[made('users', '2'), made('tenants', '1'), made('users', '1', 'v2')]]);
  });

  it('are sent at once for a projection that a reader waits for', () => {
    const { sent, reports } = begin();
    reports.note(made('tenants', '1'));
    reports.setReader('users', true);
    expect(sent, 'what it had got to').to.deep.equal([[made('tenants', '1')]]);
    reports.note(made('users', '2'));
    expect(sent[1]).to.deep.equal([made('users', '2')]);
    reports.setReader('users', false);
    reports.note(made('users', '3'));
    expect(sent).to.have.length(2);
    reports.flush();
    expect(sent[2]).to.deep.equal([made('users', '3')]);
  });

  it('are not sent when empty', () => {
    const { sent, reports } = begin();
    reports.flush();
    reports.setReader('users', true);
    expect(sent).to.deep.equal([]);
  });
});
