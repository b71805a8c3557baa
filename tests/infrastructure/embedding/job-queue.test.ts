import { expect } from 'chai';
import fc from 'fast-check';
import { type Job, JobQueue, MAX_QUESTIONS } from '../../../infrastructure/embedding/job-queue.ts';

const job = (...texts: string[]): Job => ({
  texts,
  vectors: [],
  resolve: () => undefined,
  reject: () => undefined,
});
const chunk = 'x'.repeat(900);
const nextIn = (queue: JobQueue) => queue.nextOf('question') ?? queue.nextOf('background');

describe('The queue of the embedder', () => {
  it('hands out a short record while a large file is under way', () => {
    const queue = new JobQueue();
    const enormous = job(...Array<string>(4000).fill(chunk));
    const record = job('a record');
    queue.add(enormous, 'background');
    nextIn(queue);
    queue.add(record, 'background');
    const groups = [nextIn(queue), nextIn(queue)];
    expect(groups.some((parts) => parts?.some((part) => part.job === record))).to.equal(true);
  });

  it('alternates jobs of many groups, and puts questions first', () => {
    const queue = new JobQueue();
    const jobs = [1, 2, 3].map(() => job(...Array<string>(30).fill(chunk)));
    for (const one of jobs) queue.add(one, 'background');
    const first = [nextIn(queue), nextIn(queue), nextIn(queue)];
    expect(first.map((parts) => parts?.[0]?.job)).to.deep.equal(jobs);
    const question = job('a question');
    queue.add(question, 'question');
    expect(nextIn(queue)).to.deep.equal([{ job: question, from: 0, to: 1 }]);
  });

  it('limits waiting questions', () => {
    const queue = new JobQueue();
    for (let n = 0; n < MAX_QUESTIONS; n += 1) expect(queue.add(job('?'), 'question')).to.equal(true);
    expect(queue.add(job('?'), 'question')).to.equal(false);
    expect(queue.add(job('.'), 'background')).to.equal(true);
    nextIn(queue);
    expect(queue.add(job('?'), 'question')).to.equal(true);
  });

  it('hands out every text once and in order, except dropped texts', () => {
    fc.assert(
      fc.property(
        fc.array(fc.array(fc.integer({ min: 0, max: 2500 }), { minLength: 1, maxLength: 40 }), {
          maxLength: 8,
        }),
        fc.integer({ min: 0, max: 7 }),
        (sizes, dropped) => {
          const queue = new JobQueue();
          const jobs = sizes.map((each) => job(...each.map((size) => 'x'.repeat(size))));
          for (const [n, one] of jobs.entries()) queue.add(one, n % 3 === 0 ? 'question' : 'background');
          const gone = jobs[dropped];
          if (gone !== undefined) queue.drop(gone);
          const given = new Map(jobs.map((one) => [one, 0]));
          for (let parts = nextIn(queue); parts !== undefined; parts = nextIn(queue)) {
            for (const { job: one, from, to } of parts) {
              expect(from).to.equal(given.get(one));
              expect(to).to.be.greaterThan(from);
              given.set(one, to);
            }
          }
          for (const [one, count] of given) expect(count).to.equal(one === gone ? 0 : one.texts.length);
        },
      ),
    );
  });
});
