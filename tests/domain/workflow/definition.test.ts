import { expect } from 'chai';
import {
  type Definition,
  MAX_DEFINITION_CHARACTERS,
  sameDefinition,
  sizeIssues,
  structureIssues,
  workflowDefinition,
} from '../../../domain/workflow/definition.ts';
import { change, INVOICES } from './samples.ts';

const [draft, submitted, approved, paid] = INVOICES.states;
const [submit, ...others] = INVOICES.transitions;
if (!draft || !submitted || !approved || !paid || !submit) throw new Error('the sample is not whole');

const found = (definition: Definition): string[] =>
  structureIssues(definition).map(({ path, code }) => `${path} ${code}`);

describe('The definition of a workflow', () => {
  it('may be published when its parts fit together', () => {
    expect(structureIssues(INVOICES)).to.deep.equal([]);
    const single = {
      initial: 'only',
      states: [{ key: 'only', label: 'Only', final: true }],
      transitions: [],
    };
    expect(structureIssues(single)).to.deep.equal([]);
  });

  const cases: readonly (readonly [string, Definition, readonly string[]])[] = [
    [
      'has no state',
      { initial: 'draft', states: [], transitions: [] },
      ['states too_small', 'initial unknown_state'],
    ],
    ['begins in a state that is none', change({ initial: 'nowhere' }), ['initial unknown_state']],
    [
      'has a state twice',
      change({ states: [...INVOICES.states, { key: 'draft', label: 'Again' }] }),
      ['states.4.key duplicate'],
    ],
    [
      'leads to a state that is none',
      change({ transitions: [...INVOICES.transitions, { event_name: 'go', from: 'draft', to: 'nowhere' }] }),
      ['transitions.5.to unknown_state'],
    ],
    [
      'leads from states that are none',
      change({
        transitions: [
          ...INVOICES.transitions,
          { event_name: 'go', from: 'nowhere', to: 'draft' },
          { event_name: 'go', from: ['draft', 'nowhere'], to: 'draft' },
        ],
      }),
      ['transitions.5.from unknown_state', 'transitions.6.from.1 unknown_state'],
    ],
    [
      'leaves a final state',
      change({ transitions: [...INVOICES.transitions, { event_name: 'reopen', from: 'paid', to: 'draft' }] }),
      ['transitions.5.from final_state'],
    ],
    [
      'has two transitions for one event and state',
      change({
        transitions: [...INVOICES.transitions, { event_name: 'submit', from: ['draft'], to: 'approved' }],
      }),
      ['transitions.5.from.0 duplicate'],
    ],
    [
      'names a state twice in one transition',
      change({ transitions: [{ ...submit, from: ['draft', 'draft'] }, ...others] }),
      ['transitions.0.from.1 duplicate'],
    ],
    [
      'has states that are never reached',
      change({ transitions: others }),
      ['states.1.key unreachable', 'states.2.key unreachable', 'states.3.key unreachable'],
    ],
    [
      'has a pair of states that reach only one another',
      change({
        states: [...INVOICES.states, { key: 'a', label: 'A' }, { key: 'b', label: 'B' }],
        transitions: [
          ...INVOICES.transitions,
          { event_name: 'go', from: 'a', to: 'b' },
          { event_name: 'go', from: 'b', to: 'a' },
        ],
      }),
      ['states.4.key unreachable', 'states.5.key unreachable'],
    ],
  ];
  for (const [what, definition, issues] of cases) {
    it(`is not published when it ${what}`, () => expect(found(definition)).to.deep.equal(issues));
  }

  it('reports all issues at once', () => {
    const definition = change({
      initial: 'nowhere',
      transitions: [{ event_name: 'x', from: 'paid', to: 'there' }],
    });
    expect(found(definition)).to.deep.equal([
      'initial unknown_state',
      'transitions.0.to unknown_state',
      'transitions.0.from final_state',
    ]);
  });

  it('is equal for any order of keys, and differs for any difference', () => {
    const turned = {
      transitions: INVOICES.transitions.map((each) => Object.fromEntries(Object.entries(each).reverse())),
      states: INVOICES.states,
      initial: 'draft',
    };
    expect(sameDefinition(INVOICES, workflowDefinition.parse(turned))).to.equal(true);
    for (const other of [
      change({ initial: 'paid' }),
      change({ states: [{ ...draft, label: 'Other' }, submitted, approved, paid] }),
      change({ states: [submitted, draft, approved, paid] }),
      change({ transitions: [{ ...submit, guard: 'true' }, ...others] }),
      change({ transitions: [{ ...submit, guard_label: 'x' }, ...others] }),
      change({ transitions: [{ ...submit, roles: ['admin'] }, ...others] }),
      change({ transitions: [{ ...submit, required_fields: [] }, ...others] }),
      change({ transitions: [{ ...submit, to: 'approved' }, ...others] }),
      change({ transitions: others }),
    ]) {
      expect(sameDefinition(INVOICES, other)).to.equal(false);
    }
  });

  it('is limited in characters', () => {
    const transition = { event_name: 'go', from: 'draft', to: 'draft', guard: 'x'.repeat(4000) };
    const large = change({ transitions: Array.from({ length: 40 }, () => transition) });
    expect(JSON.stringify(large).length).to.be.greaterThan(MAX_DEFINITION_CHARACTERS);
    expect(sizeIssues(large).map(({ path, code }) => [path, code])).to.deep.equal([
      ['transitions', 'too_big'],
    ]);
    expect(sizeIssues(INVOICES)).to.deep.equal([]);
  });
});
