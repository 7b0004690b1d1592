// The view of the configuration (docs/contract.md#config-view). It shows no API tokens, no webhook keys, and no values
// under names such as `password`.
//
// Only names are examined. A password inside an address, under a name such as `url`, is shown. To be redacted, it needs an entry of its
// own.
import type { Recurrence } from '../runtime/calendar/recurrence.ts';
import type { Json, JsonObject } from '../runtime/packing.ts';
import type { Config, ScheduleDefinition } from './config.ts';
import { formatListen } from './quantity.ts';

export const redacted = '[REDACTED]';

const words: ReadonlySet<string> = new Set([
  'secret',
  'token',
  'password',
  'passwd',
  'key',
  'credential',
  'auth',
  'authorization',
  'private',
  'cookie',
  'session',
]);

/** Whether a word of the key names a secret: one of `words`, in singular or plural, in any letter case. */
export function isSecretKey(key: string): boolean {
  for (const segment of key.split(/[^\p{L}]+/u)) {
    if (isWord(segment)) return true;
    // Capital letters separate words, too: `apiKey`, `APIKey`, `keyID`.
    for (const piece of segment.split(/(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u)) {
      if (isWord(piece)) return true;
    }
  }
  return false;
}

function isWord(text: string): boolean {
  const word = text.toLowerCase();
  return words.has(word) || (word.endsWith('s') && words.has(word.slice(0, -1)));
}

/** Replaces everything under keys that name secrets, at any depth. */
export function redact(value: Json): Json {
  if (Array.isArray(value)) return value.map(redact);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value as JsonObject);
  return Object.fromEntries(entries.map(([key, inner]) => [key, isSecretKey(key) ? redacted : redact(inner)]));
}

/**
 * The document of `GET /config/view`. For a plugin, `concurrency` lists the commands whose concurrency is above 1.
 * `schedules` is left out if there are none.
 */
export function viewOf({ service, api, plugins, disabledPlugins, pipelines, schedules }: Config): JsonObject {
  type Shown = { readonly config: JsonObject; readonly concurrency?: { readonly [command: string]: number } };
  const shown = (enabled: boolean) => (plugin: readonly [string, Shown]) => {
    const [name, { config, concurrency }] = plugin;
    return [name, { enabled, config: redact(config), ...(concurrency && { concurrency }) }] as const;
  };
  const all = [...Object.entries(plugins).map(shown(true)), ...Object.entries(disabledPlugins).map(shown(false))];
  return {
    service: { name: service.name, log_level: service.logLevel },
    api: {
      enabled: api.enabled,
      listen: formatListen(api.listen),
      tokens: api.tokens.map(({ scopes }) => ({ scopes })),
    },
    plugins: Object.fromEntries(all.sort(([a], [b]) => (a < b ? -1 : 1))),
    pipelines: pipelines.map(({ name, on }) => ({ name, on })),
    ...(schedules.length > 0 && { schedules: schedules.map(scheduleView) }),
  };
}

/** The id, the target and the times of the schedule, and whether it is enabled. `GET /schedules` shows the other settings. */
function scheduleView({ id, target, recurrence, enabled }: ScheduleDefinition): JsonObject {
  return { id, ...target, ...timesOf(recurrence), enabled };
}

function timesOf(recurrence: Recurrence): JsonObject {
  switch (recurrence.kind) {
    case 'cron':
      return { cron: recurrence.cron, timezone: recurrence.timezone };
    case 'every':
      return { every_ms: recurrence.everyMs };
    case 'at':
      return { at: new Date(recurrence.atMs).toISOString() };
  }
}
