// The command `headgate schedule next`, which prints when a cron expression fires. It needs no service.
import { Option } from 'commander';
import type { CronPattern } from '../../runtime/calendar/cron.ts';
import type { InstantRemark } from '../../runtime/calendar/remarks.ts';
import type { Zone } from '../../runtime/calendar/zone.ts';
import { command } from '../command.ts';
import { usageFailure } from '../failure.ts';
import { countUpTo, instantMs, parseInstant } from '../quantity.ts';
import { table } from '../terminal/table.ts';
import { formatAt } from '../terminal/time.ts';

type NextOptions = { readonly timezone: string; readonly count: number; readonly from?: string };

const remarks: { readonly [R in InstantRemark]: string } = {
  moved: 'clocks skip the time: it fires at the end of the gap',
  first: 'clocks show this time twice: this is the first',
  again: 'clocks show this time again',
};

export const scheduleNext = command<NextOptions>({
  usage: 'schedule next <cron>',
  description: 'print when a cron expression fires, in its time zone and in UTC',
  examples: ['headgate schedule next "30 2 * * *" --timezone Europe/Berlin'],
  options: [
    new Option('--timezone <name>', 'the IANA name of a time zone').default('UTC'),
    new Option('--count <count>', 'how many times').argParser(countUpTo(1_000)).default(10),
    new Option('--from <time>', 'only times after this one (RFC 3339; default: now)').argParser(parseInstant),
  ],
  async run({ args, options, out }) {
    const { parseCron } = await import('../../runtime/calendar/cron.ts');
    const { zoneNamed } = await import('../../runtime/calendar/zone.ts');
    const { remarkOn } = await import('../../runtime/calendar/remarks.ts');
    const zone = zoneNamed(options.timezone);
    if (!zone) throw usageFailure(`there is no time zone ${JSON.stringify(options.timezone)}`);
    const pattern = parseCron(args[0]!);
    if (typeof pattern === 'string') throw usageFailure(`the cron expression ${JSON.stringify(args[0])} ${pattern}`);
    const fromMs = options.from === undefined ? Date.now() : instantMs(options.from);
    const times = (await instants(pattern, zone, fromMs, options.count)).map(ms => {
      const remark = remarkOn(pattern, zone, ms);
      return { local: localText(zone, ms), utc: new Date(ms).toISOString(), ...(remark && { remark }) };
    });
    const answer = { cron: args[0], timezone: zone.name, times };
    await out.answer(answer, () => {
      if (times.length === 0) return ['it never fires'];
      const rows = times.map(({ local, utc, remark }) => [local, formatAt(utc), remark ? remarks[remark] : '']);
      return table([zone.name, 'UTC', ''], rows);
    });
  },
});

async function instants(pattern: CronPattern, zone: Zone, fromMs: number, count: number): Promise<readonly number[]> {
  const { nextInstant } = await import('../../runtime/calendar/instants.ts');
  const found: number[] = [];
  let ms = nextInstant(pattern, zone, fromMs);
  for (; ms !== null && found.length < count; ms = nextInstant(pattern, zone, ms)) found.push(ms);
  return found;
}

/** The time on the zone's wall clock with its offset, such as `2026-03-29 03:00:00 +02:00`. */
function localText(zone: Zone, ms: number): string {
  const { offsetMs } = zone.periodAt(ms);
  const minutes = Math.abs(offsetMs) / 60_000;
  const digits = (value: number) => String(Math.floor(value)).padStart(2, '0');
  const sign = offsetMs < 0 ? '-' : '+';
  const wall = new Date(ms + offsetMs).toISOString().slice(0, 19).replace('T', ' ');
  return `${wall} ${sign}${digits(minutes / 60)}:${digits(minutes % 60)}`;
}
