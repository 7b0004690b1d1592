// Cron expressions in words, where that is simple.

const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const names: Readonly<Record<string, string>> = {
  '@yearly': 'every 1 January at 00:00',
  '@annually': 'every 1 January at 00:00',
  '@monthly': 'on day 1 of each month at 00:00',
  '@weekly': 'every Sunday at 00:00',
  '@daily': 'every day at 00:00',
  '@midnight': 'every day at 00:00',
  '@hourly': 'every hour',
};

const whole = /^\d{1,2}$/;
const steps = /^\*\/(\d{1,2})$/;

/** The expression in words; null: it is not simple. */
export function cronWords(cron: string): string | null {
  const text = cron.trim();
  const named = names[text.toLowerCase()];
  if (named !== undefined) return named;
  const fields = text.split(/\s+/);
  if (fields.length !== 5) return null;
  const [minute, hour, day, month, weekday] = fields as [string, string, string, string, string];
  if (month !== '*') return null;
  const dates = datesOf(day, weekday);
  if (dates === null) return null;
  const always = dates === 'every day';
  const of = always ? '' : `, ${dates}`;
  if (hour === '*') {
    const every = steps.exec(minute)?.[1];
    if (minute === '*' || every === '1') return `every minute${of}`;
    if (every !== undefined && 60 % Number(every) === 0) return `every ${every} minutes${of}`;
    if (minute === '0') return `every hour${of}`;
    return whole.test(minute) ? `every hour at minute ${Number(minute)}${of}` : null;
  }
  if (!whole.test(minute)) return null;
  const every = steps.exec(hour)?.[1];
  if (every !== undefined && 24 % Number(every) === 0) {
    const at = minute === '0' ? '' : ` at minute ${Number(minute)}`;
    return `every ${every} hours${at}${of}`;
  }
  const hours = hour.split(',');
  if (!hours.every(one => whole.test(one))) return null;
  return `${dates} at ${hours.map(one => clockText(one, minute)).join(' and ')}`;
}

function clockText(hour: string, minute: string): string {
  return `${hour.padStart(2, '0')}:${minute.padStart(2, '0')}`;
}

function datesOf(day: string, weekday: string): string | null {
  if (day === '*' && (weekday === '*' || weekday === '0-6' || weekday === '1-7')) return 'every day';
  if (weekday === '*') {
    if (day.toUpperCase() === 'L') return 'on the last day of each month';
    return whole.test(day) ? `on day ${Number(day)} of each month` : null;
  }
  if (day !== '*') return null;
  if (/^(1-5|mon-fri)$/i.test(weekday)) return 'every weekday';
  if (/^(0,6|6,0|6,7|sat,sun)$/i.test(weekday)) return 'every weekend';
  const all = weekday.split(',').map(dayName);
  return all.every(name => name !== null) ? `every ${all.join(' and ')}` : null;
}

function dayName(text: string): string | null {
  if (/^[0-7]$/.test(text)) return days[Number(text) % 7]!;
  return days.find(name => name.slice(0, 3).toLowerCase() === text.toLowerCase()) ?? null;
}
