// The reader of the journal catches what it is there for.
import { expect, test } from 'vitest';
import { type Line, wrongs } from './journal.ts';

const line = (what: Line['what'], run = 'a', attempt = 1): Line => ({ job: 'j', attempt, run, what });

test.each<[what: string, lines: Line[], told: string[]]>([
  ['a run from start to end', [line('start'), line('breath'), line('end'), line('seen')], []],
  ['a run again after a kill', [line('start'), line('kill'), line('start', 'b'), line('end', 'b')], []],
  ['a retry', [line('start'), line('end'), line('start', 'b', 2), line('end', 'b', 2)], []],
  [
    'two runs at once',
    [line('start'), line('kill'), line('start', 'b'), line('breath'), line('end', 'b')],
    ['j: an older run still went on beside a newer one'],
  ],
  [
    'two runs in one life',
    [line('start'), line('end'), line('start', 'b')],
    ['j ran twice in one life of the service'],
  ],
  [
    'a run after the end was seen',
    [line('start'), line('end'), line('seen'), line('kill'), line('start', 'b')],
    ['j ran again after its end had been read'],
  ],
])('%s', (_, lines, told) => {
  expect(wrongs(lines)).toEqual(told);
});
