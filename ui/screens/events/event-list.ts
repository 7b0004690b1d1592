// The events that the screen keeps, and what it shows of each.
import type { LiveEvent } from '../../core/live.ts';
import { href } from '../../core/router.ts';
import { workOf } from '../../parts/work.ts';

/** The newest events are kept, up to this number. */
export const keptMax = 300;

export type HeardEvent = LiveEvent & { readonly key: number };

/** The kinds of events, by the first part of their types. */
export const kinds = [
  'job',
  'pipeline',
  'plugin',
  'system',
  'schedule',
  'action',
  'webhook',
  'vault',
  'config',
  'worker',
] as const;

/** The newest `keptMax` events, newest first. `kept`: newest first. `heard`: the new ones, oldest first. */
export function withNew(kept: readonly HeardEvent[], heard: readonly HeardEvent[]): readonly HeardEvent[] {
  return [...heard.toReversed(), ...kept].slice(0, keptMax);
}

export type EventSubject = { readonly text: string; readonly href?: string };

/** What the event is about, with a link. */
export function subjectOf({ type, data }: LiveEvent): EventSubject {
  const text = (name: string) => (typeof data[name] === 'string' ? (data[name] as string) : null);
  const [plugin, command] = [text('plugin'), text('command')];
  if (type.startsWith('schedule.')) {
    const id = text('schedule') ?? '';
    return { text: id, href: href('schedules', id) };
  }
  if (plugin === 'pipeline' || (type.startsWith('pipeline.') && plugin === null)) {
    const name = command ?? text('pipeline') ?? '';
    return { text: `pipeline ${name}`, href: href('pipeline', name) };
  }
  if (plugin !== null) return workOf(plugin, command ?? '');
  if (type.startsWith('webhook.')) return { text: text('endpoint') ?? '' };
  if (type === 'vault.changed')
    return { text: [text('op'), text('secret') ?? text('principal')].filter(Boolean).join(' ') };
  if (type === 'worker.replaced') return { text: text('host') ?? '' };
  return { text: '' };
}

const inSubject = new Set([
  'at',
  'plugin',
  'command',
  'pipeline',
  'schedule',
  'endpoint',
  'job_id',
  'root_id',
  'run_id',
]);

/** The other fields of the event, as text. */
export function detailOf({ data }: LiveEvent): string {
  if (typeof data['error'] === 'string') return data['error'];
  return Object.entries(data)
    .filter(([name, value]) => !inSubject.has(name) && value !== null && value !== undefined)
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' · ');
}

const gapReasons: Readonly<Record<string, string>> = {
  too_slow: 'more events came than the service keeps',
  restarted: 'the service was restarted',
  unknown_id: 'the service does not know the last event',
  reconnected: 'the connection was lost',
  hidden: 'the tab was hidden',
};

/** What is missing at a gap, and why. */
export function gapText({ data }: LiveEvent): string {
  const lost =
    typeof data['lost'] === 'number' ? `${data['lost']} events are missing here` : 'Events may be missing here';
  const reason = gapReasons[String(data['reason'])];
  return reason === undefined ? `${lost}.` : `${lost}: ${reason}.`;
}
