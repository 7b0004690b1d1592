// Cron expressions in words.
import { expect, test } from 'vitest';
import { cronWords } from '../../../ui/screens/schedules/cron-words.ts';

test.each([
  ['* * * * *', 'every minute'],
  ['*/15 * * * *', 'every 15 minutes'],
  ['0 * * * *', 'every hour'],
  ['5 * * * *', 'every hour at minute 5'],
  ['30 */6 * * *', 'every 6 hours at minute 30'],
  ['30 2 * * *', 'every day at 02:30'],
  ['0 8,20 * * *', 'every day at 08:00 and 20:00'],
  ['0 9 * * 1-5', 'every weekday at 09:00'],
  ['0 9 * * 0,6', 'every weekend at 09:00'],
  ['0 9 * * MON', 'every Monday at 09:00'],
  ['0 9 * * 1,7', 'every Monday and Sunday at 09:00'],
  ['0 3 1 * *', 'on day 1 of each month at 03:00'],
  ['0 3 L * *', 'on the last day of each month at 03:00'],
  ['*/10 * * * 1-5', 'every 10 minutes, every weekday'],
  ['@daily', 'every day at 00:00'],
])('%s is %s', (cron, words) => {
  expect(cronWords(cron)).toBe(words);
});

// */7 does not divide the hour, so the minutes are not evenly spaced.
test.each([
  '*/7 * * * *',
  '0 0 15W * *',
  '0 9 * * FRI#2',
  '0 9 1 1 *',
  '0 9 1 * 1',
  '0-5 * * * *',
  '30 0 2 * * *',
  'nonsense',
])('%s has no simple words', cron => {
  expect(cronWords(cron)).toBe(null);
});
