// Cases with single large values: elements of fan-outs, payloads of events, and the values that conditions examine.
import type { Caller } from '../caller.ts';
import { type Case, range, run, submit, succeeded, uses } from './case.ts';

const announced = 'heavy.announced';
const lacks = { not: { path: 'payload.items', op: 'contains', value: 101 } };
/** A condition that searches the whole text for each of eight words. */
const mentionsNone = { not: { any: range(8).map(n => ({ path: 'payload.text', op: 'contains', value: `y${n}` })) } };
const waiting = (name: string, condition: object) => ({
  name,
  on: announced,
  if: condition,
  steps: [uses('end', 'end')],
});

async function announce(caller: Caller, bytes: number, runs = 1, isText = false): Promise<number> {
  await submit(caller, '/plugin/heavy/announce', { type: announced, bytes, isText });
  await succeeded(caller, runs);
  return runs;
}

export const largeCases: readonly Case[] = [
  {
    name: 'large_element',
    pipelines: [{ name: 'fanned', steps: [uses('one', 'nested'), uses('each', 'end', { foreach: 'payload.items' })] }],
    async run(caller, { resultBytes }) {
      await run(caller, 'fanned', { bytes: resultBytes });
      return 1;
    },
  },
  {
    name: 'large_element_in_with',
    pipelines: [
      {
        name: 'copied',
        steps: [
          uses('one', 'nested'),
          uses('each', 'end', {
            foreach: 'payload.items',
            with: { copy: '{payload.item}', last: '{payload.item.1000}', text: 'all: {payload.item}' },
          }),
        ],
      },
    ],
    async run(caller, { resultBytes }) {
      await run(caller, 'copied', { bytes: resultBytes });
      return 1;
    },
  },
  {
    name: 'condition_on_event',
    pipelines: [waiting('one', lacks)],
    run: (caller, { resultBytes }) => announce(caller, resultBytes),
  },
  {
    name: 'condition_on_text_of_event',
    pipelines: [waiting('one', mentionsNone)],
    run: (caller, { resultBytes }) => announce(caller, resultBytes, 1, true),
  },
  {
    name: 'condition_of_called_pipeline',
    pipelines: [
      { name: 'called', if: lacks, steps: [uses('end', 'end')] },
      { name: 'calling', steps: [uses('one', 'items'), { id: 'call', call: 'called' }] },
    ],
    async run(caller, { resultBytes }) {
      await run(caller, 'calling', { count: resultBytes / 5 });
      return 1;
    },
  },
  {
    name: 'condition_of_hook',
    pipelines: [
      {
        name: 'hooked',
        on_hook: 'job.completed',
        if: { not: { path: 'payload.result.items', op: 'contains', value: -1 } },
        steps: [uses('end', 'end')],
      },
    ],
    async run(caller, { resultBytes }) {
      await submit(caller, '/plugin/heavy/items', { count: resultBytes / 5 });
      await succeeded(caller, 1);
      return 1;
    },
  },
  {
    name: 'large_event',
    pipelines: [{ name: 'told', on: announced, steps: [uses('end', 'end')] }],
    run: (caller, { resultBytes }) => announce(caller, resultBytes),
  },
  {
    name: 'large_event_for_many',
    pipelines: range(8).map(n => ({ name: `told${n}`, on: announced, steps: [uses('end', 'end')] })),
    run: (caller, { resultBytes }) => announce(caller, resultBytes, 8),
  },
  {
    name: 'large_result_for_many_hooks',
    pipelines: range(8).map(n => ({ name: `hooked${n}`, on_hook: 'job.completed', steps: [uses('end', 'end')] })),
    async run(caller, { resultBytes }) {
      await submit(caller, '/plugin/heavy/items', { count: resultBytes / 5 });
      await succeeded(caller, 8);
      return 8;
    },
  },
  {
    name: 'large_event_in_run',
    pipelines: [{ name: 'emitted_large', steps: [uses('emit', 'announce'), uses('end', 'end')] }],
    async run(caller, { resultBytes }) {
      await run(caller, 'emitted_large', { type: 'heavy.other', bytes: resultBytes });
      return 1;
    },
  },
  {
    name: 'large_event_before_branches',
    pipelines: [
      {
        name: 'divided',
        steps: [uses('emit', 'announce'), { id: 'split', split: range(8).map(n => [uses(`end${n}`, 'end')]) }],
      },
    ],
    async run(caller, { resultBytes }) {
      await run(caller, 'divided', { type: 'heavy.other', bytes: resultBytes });
      return 8;
    },
  },
  {
    name: 'large_result_before_branches',
    pipelines: [
      {
        name: 'shared',
        steps: [uses('noise', 'noise'), { id: 'split', split: range(8).map(n => [uses(`end${n}`, 'end')]) }],
      },
    ],
    async run(caller, { resultBytes }) {
      await run(caller, 'shared', { bytes: resultBytes });
      return 8;
    },
  },
];
