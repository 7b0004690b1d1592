// The reader of the journal detects each kind of wrong run.
import { expect, test } from 'vitest';
import { type Line, wrongs } from './journal.ts';

const line = (what: Line['what'], run = 'a', attempt = 1, service = 1): Line => ({
  job: 'j',
  attempt,
  service,
  run,
  what,
});
const first = line('service');
const later = (what: Line['what']) => line(what, 'b', 1, 2);

test.each<[what: string, lines: Line[], told: string[]]>([
  ['a run from start to end', [first, line('start'), line('breath'), line('end'), line('seen')], []],
  ['a run again in the next life', [first, line('start'), later('service'), later('start'), later('end')], []],
  ['a retry', [first, line('start'), line('end'), line('start', 'b', 2), line('end', 'b', 2)], []],
  [
    'two runs at once',
    [first, line('start'), later('service'), later('start'), line('breath'), later('end')],
    ['j: an older run still went on beside a newer one'],
  ],
  [
    'a run again when its host was killed',
    [first, line('start'), line('hosts'), line('start', 'b'), line('end', 'b')],
    [],
  ],
  [
    'a third run, though its host was killed once',
    [first, line('start'), line('hosts'), line('start', 'b'), line('end', 'b'), line('start', 'c')],
    ['j ran twice in one life of the service'],
  ],
  [
    'two runs in one life',
    [first, line('start'), line('end'), line('start', 'b')],
    ['j ran twice in one life of the service'],
  ],
  [
    'a run after the end was seen',
    [first, line('start'), line('end'), line('seen'), later('service'), later('start')],
    ['j ran again after its end had been read'],
  ],
])('%s', (_, lines, told) => {
  expect(wrongs(lines)).toEqual(told);
});
