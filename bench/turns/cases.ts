// Kinds of work whose size plugins and callers decide, and that are expensive for the ledger.
import type { Caller, Job } from '../caller.ts';
import { until } from '../pause.ts';

export type Sizes = {
  /** The length of a text that conditions examine. */
  readonly characters: number;
  /** How many chains, events or steps with a condition examine it. */
  readonly conditions: number;
  /** The entries of a plugin's state, and the jobs that change it. */
  readonly entries: number;
  readonly updates: number;
  /** The size of each child's result, and the number of children. */
  readonly childBytes: number;
  readonly children: number;
  /** The size of a single result. */
  readonly resultBytes: number;
  readonly events: number;
};

export type Case = {
  readonly name: string;
  readonly pipelines?: readonly object[];
  /** Runs before the measurement. */
  readonly prepare?: (caller: Caller, sizes: Sizes) => Promise<unknown>;
  /** Does the work; resolves with the number of jobs, events or conditions. */
  readonly run: (caller: Caller, sizes: Sizes) => Promise<number>;
};

const msMax = 300_000;

/** A condition without a literal that could be searched for first. No text of the plugin matches it. */
const matches = { path: 'payload.text', op: 'regex', value: '(a.{0,300}b){3}[^ab]' };
const uses = (id: string, command: string, more: object = {}) => ({ id, uses: `heavy.${command}`, ...more });
const range = (count: number): number[] => Array.from({ length: count }, (_, n) => n);
/** The most steps of a definition. */
const stepsMax = 64;

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
    name: 'state_updates',
    prepare: (caller, { entries }) => submit(caller, '/plugin/heavy/fill', { entries }),
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
      await idle(caller);
      return 1;
    },
  },
];

async function submit(caller: Caller, path: string, payload: object): Promise<void> {
  const id = await caller.submit(path, payload);
  await ended(caller, id);
}

async function run(caller: Caller, pipeline: string, payload: object): Promise<void> {
  await ended(caller, await caller.submit(`/pipeline/${pipeline}?async=true`, payload));
}

async function ended(caller: Caller, id: string): Promise<void> {
  const look = async (): Promise<Job | undefined> => {
    const job = await caller.job(id);
    return job.status === 'queued' || job.status === 'running' ? undefined : job;
  };
  const job = await until(look, { everyMs: 5, withinMs: msMax, what: `the end of ${id}` });
  if (job.status !== 'succeeded') throw new Error(`${job.plugin}.${job.command} is ${job.status}: ${job.last_error}`);
}

async function idle(caller: Caller): Promise<void> {
  const look = async () => ((await caller.unsettled()) === 0 ? true : undefined);
  await until(look, { everyMs: 5, withinMs: msMax, what: 'the end of all jobs' });
}
