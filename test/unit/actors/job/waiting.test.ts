// Jobs that wait for a time or in a line: any of them can be taken out, whatever their number.
import { expect, test } from 'vitest';
import { AttemptQueue } from '../../../../actors/job/dispatch/queues.ts';
import type { OpenAttempt } from '../../../../actors/job/open-attempt.ts';
import { keyText, OpenBlock } from '../../../../actors/job/records/open.ts';
import { Retries } from '../../../../actors/job/times/retries.ts';
import { Dice } from '../../../service/simulation/dice.ts';
import { cyclesOf } from '../../../support/deep.ts';

const blockOf = (number: number) => {
  const key = Buffer.alloc(12);
  key.writeUInt32BE(number, 0);
  return new OpenBlock(keyText(key), 'echo', 'handle', 1024);
};
const attempt = (open: OpenBlock, index: number, dueUs = 0): OpenAttempt => {
  return { open, index, attempt: 2, custody: 'waiting', dueUs };
};

test('retries come soonest first, without those that were removed, as in a plain list', () => {
  const dice = new Dice(1, 'retries');
  const blocks = [1, 2, 3].map(blockOf);
  const retries = new Retries();
  let plain: OpenAttempt[] = [];
  for (let step = 0; step < cyclesOf({ deep: 20_000, quick: 8_000 }); step++) {
    const kind = dice.below(step % 4000 < 2000 ? 3 : 8);
    const [open, index] = [dice.pick(blocks), dice.below(1024)];
    const known = plain.find(job => job.open === open && job.index === index);
    if (kind < 2 && !known) {
      const job = attempt(open, index, dice.below(1000));
      retries.push(job);
      plain.push(job);
    } else if (kind < 4) {
      expect(retries.remove(open, index)).toBe(known);
      plain = plain.filter(job => job !== known);
    } else {
      const soonest = Math.min(...plain.map(({ dueUs }) => dueUs));
      const due = retries.popDue(500);
      expect(due?.dueUs).toBe(soonest <= 500 ? soonest : undefined);
      plain = plain.filter(job => job !== due);
    }
    expect(retries.size).toBe(plain.length);
    if (step % 50 === 0 && plain.length > 0)
      expect(retries.nextDueUs).toBe(Math.min(...plain.map(({ dueUs }) => dueUs)));
  }
});

test('a line keeps its order, without those that were removed', () => {
  const open = blockOf(1);
  const queue = new AttemptQueue();
  for (let index = 0; index < 1024; index++) queue.push(attempt(open, index));
  for (let index = 0; index < 1024; index++) if (index % 3 > 0) expect(queue.remove(open, index)?.index).toBe(index);
  expect(queue.remove(open, 1)).toBeUndefined();
  queue.push(attempt(open, 1));
  const left = Array.from({ length: queue.length }, () => queue.shift()!.index);
  expect(left).toEqual([...Array.from({ length: 342 }, (_, third) => third * 3), 1]);
  expect([queue.length, queue.peek(), queue.shift()]).toEqual([0, undefined, undefined]);
});

test('removing is no search: of a million that wait, a hundred thousand are taken out one by one', () => {
  const blocks = Array.from({ length: 1000 }, (_, number) => blockOf(number));
  const [retries, queue] = [new Retries(), new AttemptQueue()];
  for (const open of blocks) {
    for (let index = 0; index < 1000; index++) {
      retries.push(attempt(open, index, index));
      queue.push(attempt(open, index));
    }
  }
  const startUs = process.cpuUsage();
  let found = 0;
  for (const open of blocks) {
    for (let index = 900; index < 1000; index++) {
      if (retries.remove(open, index)?.index === index && queue.remove(open, index)?.index === index) found++;
    }
  }
  const { user, system } = process.cpuUsage(startUs);
  expect(found).toBe(100_000);
  // A search through a million jobs takes milliseconds; all removals together use less than a thousandth of the CPU of as many searches.
  expect((user + system) / 1000).toBeLessThan(5_000);
  expect([retries.size, queue.length]).toEqual([900_000, 900_000]);
});
