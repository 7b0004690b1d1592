// The cases of the bench "turns": work that is expensive for the ledger, and whose size plugins and callers decide.
import type { Caller } from '../caller.ts';
import { type Case, idle, range, run, type Sizes, submit, succeeded, uses } from './case.ts';
import { largeCases } from './large-cases.ts';

/** A condition whose pattern has no literal to search for first. No text of the plugin matches the pattern. */
const matches = { path: 'payload.text', op: 'regex', value: '(a.{0,300}b){3}[^ab]' };
/** The number of steps with a condition in the pipeline `chain`. */
const stepsMax = 64;

const emittingForEach = {
  name: 'emitting',
  steps: [
    uses('emit', 'emit', { foreach: 'payload.items', with: { type: '{payload.type}', characters: 1, count: 1 } }),
  ],
};

/** Fills the plugin's state by two jobs, because a response may update only half of the entries. */
async function fill(caller: Caller, { entries }: Sizes): Promise<void> {
  for (const first of [0, 1]) await submit(caller, '/plugin/heavy/fill', { first, entries });
}

export const cases: readonly Case[] = [
  {
    name: 'conditions_of_a_chain',
    pipelines: [
      {
        name: 'chain',
        steps: [uses('text', 'text'), ...range(stepsMax).map(n => uses(`never${n}`, 'end', { if: matches }))],
      },
    ],
    async run(caller, { characters }) {
      await run(caller, 'chain', { characters });
      return stepsMax;
    },
  },
  {
    name: 'conditions_of_children',
    pipelines: [
      {
        name: 'tested',
        steps: [
          uses('text', 'text', { foreach: 'payload.items', with: { characters: '{payload.characters}' } }),
          uses('never', 'end', { if: matches }),
        ],
      },
    ],
    async run(caller, { characters, conditions }) {
      await run(caller, 'tested', { characters, items: range(conditions) });
      return conditions;
    },
  },
  {
    name: 'conditions_of_events',
    pipelines: [{ name: 'emitted', steps: [uses('emit', 'emit'), uses('never', 'end', { if: matches })] }],
    async run(caller, { characters, conditions }) {
      await run(caller, 'emitted', { type: 'heavy.other', characters, count: conditions });
      return conditions;
    },
  },
  {
    name: 'conditions_of_triggers',
    pipelines: [{ name: 'triggered', on: 'heavy.tested', if: matches, steps: [uses('end', 'end')] }],
    async run(caller, { characters, conditions }) {
      await submit(caller, '/plugin/heavy/emit', { type: 'heavy.tested', characters, count: conditions });
      await idle(caller);
      return conditions;
    },
  },
  {
    name: 'events_of_many_jobs',
    pipelines: [
      ...range(3).map(n => ({ name: `told${n}`, on: 'heavy.told', steps: [uses('end', 'end')] })),
      emittingForEach,
    ],
    async run(caller, { events }) {
      const jobs = Math.ceil(events / 10);
      await run(caller, 'emitting', { type: 'heavy.told', items: range(jobs) });
      await succeeded(caller, 3 * jobs + 1);
      return jobs;
    },
  },
  {
    name: 'hooks_of_many_jobs',
    pipelines: [
      ...range(3).map(n => ({ name: `hooked${n}`, on_hook: 'job.completed', steps: [uses('end', 'end')] })),
      emittingForEach,
    ],
    async run(caller, { events }) {
      const jobs = Math.ceil(events / 10);
      await run(caller, 'emitting', { type: 'heavy.other', items: range(jobs) });
      await succeeded(caller, 3 * jobs + 1);
      return jobs;
    },
  },
  {
    name: 'state_updates',
    prepare: fill,
    pipelines: [{ name: 'updating', steps: [uses('one', 'update', { foreach: 'payload.items', with: { count: 1 } })] }],
    async run(caller, { updates }) {
      await run(caller, 'updating', { items: range(updates) });
      return updates;
    },
  },
  {
    name: 'state_updates_of_many_keys',
    pipelines: [
      { name: 'updating_many', steps: [uses('many', 'update', { foreach: 'payload.items', with: { count: 1000 } })] },
    ],
    async run(caller, { updates }) {
      const many = Math.ceil(updates / 10);
      await run(caller, 'updating_many', { items: range(many) });
      return many;
    },
  },
  {
    name: 'state_updates_in_no_order',
    prepare: fill,
    pipelines: [
      {
        name: 'shuffling',
        steps: [uses('all', 'shuffle', { foreach: 'payload.items', with: { entries: '{payload.entries}' } })],
      },
    ],
    async run(caller, { updates, entries }) {
      const few = Math.ceil(updates / 20);
      await run(caller, 'shuffling', { items: range(few), entries: entries / 2 });
      return few;
    },
  },
  {
    name: 'join',
    pipelines: [
      {
        name: 'joined',
        steps: [
          uses('noise', 'noise', { foreach: 'payload.items', with: { bytes: '{payload.bytes}' } }),
          uses('end', 'end', { join: 'all' }),
        ],
      },
    ],
    async run(caller, { children, childBytes }) {
      await run(caller, 'joined', { items: range(children), bytes: childBytes });
      return children;
    },
  },
  {
    name: 'inflating',
    pipelines: [
      {
        name: 'inflated',
        steps: [
          uses('words', 'words', { foreach: 'payload.items', with: { bytes: '{payload.bytes}' } }),
          uses('end', 'end', { join: 'all', collect: 'counts' }),
        ],
      },
    ],
    async run(caller, { children, childBytes }) {
      await run(caller, 'inflated', { items: range(children), bytes: 4 * childBytes });
      return children;
    },
  },
  {
    name: 'events',
    pipelines: [{ name: 'flooded', steps: [uses('emit', 'emit'), uses('end', 'end')] }],
    async run(caller, { events }) {
      await run(caller, 'flooded', { type: 'heavy.other', characters: 10, count: events });
      return events;
    },
  },
  {
    name: 'result',
    async run(caller, { resultBytes }) {
      await submit(caller, '/plugin/heavy/noise', { bytes: resultBytes });
      await idle(caller);
      return 1;
    },
  },
  {
    name: 'result_handed_on',
    pipelines: [{ name: 'handed_on', steps: [uses('noise', 'noise'), uses('end', 'end')] }],
    async run(caller, { resultBytes }) {
      await run(caller, 'handed_on', { bytes: resultBytes });
      return 1;
    },
  },
  {
    name: 'template',
    pipelines: [
      {
        name: 'rendered',
        steps: [
          uses('items', 'items'),
          uses('first', 'end', { with: { copy: '{payload.items}', text: 'all: {payload.items}' } }),
        ],
      },
    ],
    async run(caller, { resultBytes }) {
      await run(caller, 'rendered', { count: Math.ceil(resultBytes / 12) });
      return 1;
    },
  },
  {
    name: 'joined_results_looked_into',
    pipelines: [
      {
        name: 'looked_into',
        steps: [
          uses('lists', 'items', { foreach: 'payload.items', with: { count: '{payload.count}' } }),
          uses('text', 'end', {
            join: 'all',
            if: { not: { path: 'payload.results', op: 'contains', value: 'nothing' } },
            with: { last: '{payload.results.3.items}', text: 'all: {payload.results.0}' },
          }),
        ],
      },
    ],
    async run(caller, { children, childBytes }) {
      await run(caller, 'looked_into', { items: range(children), count: Math.ceil(childBytes / 6) });
      return children;
    },
  },
  {
    name: 'foreach_of_joined_results',
    pipelines: [
      {
        name: 'fanned_out',
        steps: [
          uses('noise', 'noise', { foreach: 'payload.items', with: { bytes: '{payload.bytes}' } }),
          uses('each', 'end', { join: 'all', foreach: 'payload.results' }),
        ],
      },
    ],
    async run(caller, { children, childBytes }) {
      await run(caller, 'fanned_out', { items: range(children), bytes: childBytes });
      return children;
    },
  },
  {
    name: 'hook',
    pipelines: [{ name: 'hooked', on_hook: 'job.completed', steps: [uses('end', 'end')] }],
    async run(caller, { resultBytes }) {
      await submit(caller, '/plugin/heavy/items', { count: Math.ceil(resultBytes / 6) });
      await succeeded(caller, 1);
      return 1;
    },
  },
  ...largeCases,
];
