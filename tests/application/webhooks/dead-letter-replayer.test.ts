import { expect } from 'chai';
import { deadLetterReplayer, WebhookDeliveries } from '../../../application/webhooks/webhook-deliveries.ts';
import { DomainError } from '../../../domain/core/errors.ts';
import { refusalCode } from '../../support/eventually.ts';
import { startNode } from '../../support/node.ts';
import { hook, writeSubscription } from './support.ts';

describe('The replay of a dead-letter log', () => {
  it('is not skipped because the read model is behind', async () => {
    const node = startNode();
    await writeSubscription(node, 'acme', hook('one'), {
      type: 'WebhookDeadLettersReplayed',
      data: { subscription_id: 'one', replay_id: 'replay', until: '2026', count: 1 },
    });
    const deadLetters = (): never => {
      throw new DomainError('read_model_behind', 'behind');
    };
    const webhookDeliveries = new WebhookDeliveries({ ...node, deadLetters });
    const { types, handle } = deadLetterReplayer({ webhookDeliveries });
    const codes: string[] = [];
    for (const stored of await node.events.readAll({ filter: { types } })) {
      codes.push(await refusalCode(handle(node.codec.decode(stored))));
    }
    expect(codes).to.deep.equal(['unavailable']);
  });
});
