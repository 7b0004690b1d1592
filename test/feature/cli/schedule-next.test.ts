// `headgate schedule next`: the times of a cron expression, with what a change of the clocks does to them.
import { expect, test } from 'vitest';
import { headgate } from './headgate.ts';

const next = (cron: string, ...words: string[]) => headgate(['schedule', 'next', cron, ...words]);

test('times are shown in the zone and in UTC', async () => {
  const { stdout, status } = await next(
    '30 2 * * *',
    '--timezone',
    'Europe/Berlin',
    '--from',
    '2026-03-27T12:00:00Z',
    '--count',
    '3',
  );
  expect(status).toBe(0);
  expect(stdout.split('\n').map(line => line.trimEnd())).toEqual([
    'Europe/Berlin               UTC',
    '2026-03-28 02:30:00 +01:00  2026-03-28 01:30:00.000',
    '2026-03-29 03:00:00 +02:00  2026-03-29 01:00:00.000  clocks skip the time: it fires at the end of the gap',
    '2026-03-30 02:30:00 +02:00  2026-03-30 00:30:00.000',
    '',
  ]);
});

test('a time that comes twice is marked', async () => {
  const words = ['--timezone', 'Europe/Berlin', '--from', '2025-10-25T23:45:00Z', '--count', '4', '--json'];
  const once = await next('30 2 * * *', ...words);
  expect(once.json.times[0]).toEqual({
    local: '2025-10-26 02:30:00 +02:00',
    utc: '2025-10-26T00:30:00.000Z',
    remark: 'first',
  });
  expect(once.json.times[1]).toEqual({ local: '2025-10-27 02:30:00 +01:00', utc: '2025-10-27T01:30:00.000Z' });
  const twice = await next('*/30 2 * * *', ...words);
  expect(twice.json.times.map(({ remark }: { remark: string }) => remark)).toEqual([
    'first',
    'first',
    'again',
    'again',
  ]);
});

test('ten times are printed by default, fewer if there are no more', async () => {
  expect((await next('@hourly', '--json')).json.times).toHaveLength(10);
  expect((await next('0 0 30 2 *')).stdout).toBe('it never fires\n');
});

test('what is wrong is said', async () => {
  expect(await next('61 * * * *')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('"61 * * * *" has 61 as minute; it must be from 0 to 59'),
  });
  expect(await next('@daily', '--timezone', 'Berlin')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('there is no time zone "Berlin"'),
  });
});
