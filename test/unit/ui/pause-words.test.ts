// What the question before a pause says.
import { expect, it } from 'vitest';
import { heldText, type PauseTarget, pauseText, targetText } from '../../../ui/parts/pause-words.ts';

const counts = [
  { plugin: 'mailer', command: 'send', queued: 1200, running: 2 },
  { plugin: 'mailer', command: 'poll', queued: 0, running: 1 },
  { plugin: 'shop', command: 'load', queued: 1, running: 0 },
  { plugin: 'pipeline', command: 'import', queued: 1, running: 3 },
  { plugin: 'pipeline', command: 'export', queued: 0, running: 1 },
];
const targets: readonly (readonly [PauseTarget, string, string])[] = [
  [
    { kind: 'system' },
    'the service',
    'Now 1\u202f201 jobs wait, 3 running jobs continue, 1 run waits and 4 open runs stop at their next steps.',
  ],
  [{ kind: 'plugin', name: 'mailer' }, 'the plugin mailer', 'Now 1\u202f200 jobs wait and 3 running jobs continue.'],
  [
    { kind: 'plugin', name: 'mailer', command: 'poll' },
    'the plugin mailer, command poll',
    'Now 1 running job continues.',
  ],
  [
    { kind: 'pipeline', name: 'import' },
    'the pipeline import',
    'Now 1 run waits and 3 open runs stop at their next steps.',
  ],
  [{ kind: 'plugin', name: 'idle' }, 'the plugin idle', 'Nothing of it runs or waits now.'],
];

it.each(targets)('%j', (target, name, held) => {
  expect(targetText(target)).toBe(name);
  expect(heldText(target, counts)).toBe(held);
});

it('a pause of a command is said to hold jobs of the command alone', () => {
  expect(pauseText({ kind: 'plugin', name: 'mailer', command: 'poll' })).toMatch(/^No job of the command starts until/);
  expect(pauseText({ kind: 'plugin', name: 'mailer' })).toContain('one that builds on it');
});
