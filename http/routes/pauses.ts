// The routes that pause and resume plugins, commands, pipelines and the whole service (docs/engine.md#pauses).
import type { PauseRequest } from '../../actors/job/holds/pause-protocol.ts';
import { isRestoreHold, type PauseKind, type PauseTarget } from '../../actors/job/records/pause.ts';
import type { Config } from '../../config/config.ts';
import { parseDuration } from '../../config/quantity.ts';
import { Type } from '../../runtime/schema-type.ts';
import { pauseDocument, targetDocument } from '../../service/json/pause.ts';
import { parseTimestamp } from '../../service/json/timestamp.ts';
import { unsettledDocument } from '../../service/json/unsettled.ts';
import { bodyOf, count, counted, instant, nullable, oneOfTexts, reasonSchema } from '../openapi/schemas.ts';
import { type HttpProblem, invalidAt, isProblem, problem } from '../problem.ts';
import { timeRule } from '../query.ts';
import { refusalDetails } from '../refusal.ts';
import { anyOf, type HttpCall, json, type Route, route } from '../route.ts';
import { findPipeline } from './execution.ts';

const section = 'Control';
/** The maximum length of a pause with an end, in days. */
export const pauseDaysMax = 3650;
const pauseUsMax = pauseDaysMax * 86_400_000_000;

const command = Type.Optional(
  Type.String({ minLength: 1, maxLength: 256, description: 'Only this command of the plugin.' }),
);

const pauseFields = {
  reason: reasonSchema('Shown with the pause.'),
  until: Type.Optional(Type.String({ description: 'RFC 3339. The pause ends by itself at this time.' })),
  for: Type.Optional(Type.String({ description: 'The pause ends by itself after this time, such as `30m`.' })),
  reject: Type.Optional(
    Type.Boolean({
      description: 'New calls and webhook deliveries get 503 `paused`. Default: they are accepted and wait.',
    }),
  ),
};
type PauseBody = {
  readonly command?: string;
  readonly reason?: string;
  readonly until?: string;
  readonly for?: string;
  readonly reject?: boolean;
};

const target = Type.Object({
  kind: oneOfTexts(['system', 'pipeline', 'plugin']),
  name: Type.Optional(Type.String()),
  command: Type.Optional(Type.String()),
});
const pauseShape = {
  target,
  reason: Type.Optional(Type.String()),
  by: Type.String({ description: 'The `submitted_by` of whoever paused it.' }),
  since: instant,
  until: Type.Optional(instant),
  reject: Type.Optional(Type.Literal(true)),
};
export const pauseSchema = Type.Object(pauseShape);
const wouldRunSchema = Type.Object(
  {
    jobs: count,
    delayed: count,
    runs: counted('Runs of pipelines that have not settled.'),
    oldest_at: nullable(instant),
    commands: Type.Array(Type.Object({ plugin: Type.String(), command: Type.String(), jobs: count }), {
      maxItems: 100,
    }),
  },
  { description: 'Only for a restored state: the unsettled jobs, and when the oldest was accepted.' },
);
const listedSchema = Type.Object({ ...pauseShape, would_run: Type.Optional(wouldRunSchema) });
const resumedSchema = Type.Object({
  target,
  resumed: Type.Boolean({ description: 'False: it was not paused.' }),
});

/** What can be paused. `notes`: what a pause of it means. `problems`: the refusal of a name that is not configured. */
const targets = {
  plugin: {
    noun: 'a plugin, or one of its commands',
    path: '/control/plugin/{plugin}',
    problems: ['unknown_plugin'],
    notes:
      'Jobs of the plugin, and of instances that build on it, are accepted and wait; running jobs continue. With `command`, only jobs of ' +
      'that command wait. Each target has at most one pause: a second one replaces the first.',
  },
  pipeline: {
    noun: 'a pipeline',
    path: '/control/pipeline/{pipeline}',
    problems: ['unknown_pipeline'],
    notes:
      'New runs are accepted and wait. Open runs finish the jobs that they have; no further step starts. Pipelines that their steps ' +
      'have called continue, unless they are paused themselves.',
  },
  system: {
    noun: 'the whole service',
    path: '/control/system',
    problems: [],
    notes: 'No job and no step of a pipeline starts.',
  },
} as const satisfies {
  readonly [K in PauseKind]: Pick<Route, 'path' | 'notes' | 'problems'> & { readonly noun: string };
};

function pauseRoute(kind: PauseKind): Route {
  const { noun, path, notes, problems } = targets[kind];
  return route({
    method: 'POST',
    path: `${path}/pause`,
    section,
    summary: `Pauses ${noun}: nothing new starts until it is resumed, even after a restart.`,
    notes,
    access: anyOf('control:rw'),
    body: bodyOf({ ...(kind === 'plugin' && { command }), ...pauseFields }),
    problems: [...problems, 'unavailable', 'disk_full', 'stopping'],
    answers: { 200: { description: 'It is paused.', schema: pauseSchema } },
    find: call => known(call.config, kind, nameIn(call)),
    async handle(call) {
      const { engine, found: name, caller } = call;
      const body = (call.body ?? {}) as PauseBody;
      const end = readEnd(body, call.nowMs() * 1000);
      if (isProblem(end)) return end;
      const wrong = wrongCommand(call.config, name, body.command);
      if (wrong) return wrong;
      const reply = await engine.pauses.pause({
        kind,
        name,
        command: body.command ?? null,
        reason: body.reason ?? null,
        by: caller!.origin,
        ...end,
        rejects: body.reject === true,
      });
      if (reply.kind === 'refused') return problem(reply.refusal, refusalDetails[reply.refusal]);
      return json(200, JSON.stringify(pauseDocument(reply.pause!)));
    },
  });
}

function resumeRoute(kind: PauseKind): Route {
  const { noun, path, problems } = targets[kind];
  return route({
    method: 'POST',
    path: `${path}/resume`,
    section,
    summary: `Resumes ${noun}. A target that is not paused is not an error.`,
    notes: 'Ends only the pause of this target. Other pauses may still hold its jobs.',
    access: anyOf('control:rw'),
    body: bodyOf(kind === 'plugin' ? { command } : {}),
    problems: [...problems, 'unavailable', 'disk_full', 'stopping'],
    answers: { 200: { description: 'It is not paused.', schema: resumedSchema } },
    async handle(call) {
      const { engine, config, caller } = call;
      const body = (call.body ?? {}) as Pick<PauseBody, 'command'>;
      const name = nameIn(call);
      const target: PauseTarget = { kind, name, command: body.command ?? null };
      const reply = await engine.pauses.resume(target, caller!.origin);
      if (reply.kind === 'refused') return problem(reply.refusal, refusalDetails[reply.refusal]);
      if (reply.pause === null) {
        // A paused target can be resumed even if the configuration lacks the target. A target that is not paused must be
        // configured.
        const found = known(config, kind, name);
        if (typeof found === 'object') return found;
        const wrong = wrongCommand(config, name, body.command);
        if (wrong) return wrong;
      }
      return json(200, JSON.stringify({ target: targetDocument(target), resumed: reply.pause !== null }));
    },
  });
}

const getPauses = route({
  method: 'GET',
  path: '/pauses',
  section,
  summary: 'Lists what is paused, by whom, since when and until when.',
  access: anyOf('control:ro', 'control:rw'),
  notes:
    'A restored state starts with a pause of the whole service, by `restore`: until it is resumed, schedules fire nothing and webhook ' +
    'deliveries get 503 `paused`. `would_run` says what runs once it is resumed.',
  answers: { 200: { description: 'The pauses.', schema: Type.Object({ pauses: Type.Array(listedSchema) }) } },
  handle({ engine }) {
    const documents = engine.pauses.list().map(pause => ({
      ...pauseDocument(pause),
      ...(isRestoreHold(pause) && { would_run: unsettledDocument(engine.pauses.unsettled()) }),
    }));
    return json(200, JSON.stringify({ pauses: documents }));
  },
});

const kinds: readonly PauseKind[] = ['plugin', 'pipeline', 'system'];
export const pauseRoutes: readonly Route[] = [
  ...kinds.flatMap(kind => [pauseRoute(kind), resumeRoute(kind)]),
  getPauses,
];

/** The name of the plugin or pipeline in the path; empty for the whole service. */
function nameIn({ params }: Pick<HttpCall, 'params'>): string {
  const { plugin, pipeline } = params as { readonly plugin?: string; readonly pipeline?: string };
  return plugin ?? pipeline ?? '';
}

/** Returns the name if the target is configured, else 404. Disabled plugins, and plugins on which an instance builds, count as configured. */
function known(config: Config, kind: PauseKind, name: string): string | HttpProblem {
  if (kind === 'system') return name;
  if (kind === 'pipeline') {
    const pipeline = findPipeline(config, name);
    return isProblem(pipeline) ? pipeline : name;
  }
  const { plugins, disabledPlugins } = config;
  const isKnown =
    Object.hasOwn(plugins, name) ||
    Object.hasOwn(disabledPlugins, name) ||
    Object.values(plugins).some(({ bases }) => bases?.includes(name));
  return isKnown ? name : problem('unknown_plugin', `there is no plugin ${JSON.stringify(name)}`);
}

/** The refusal of an unknown command; null if the plugin, or an instance that builds on it, has the command, or if none is given. */
function wrongCommand({ plugins }: Config, name: string, command: string | undefined): HttpProblem | null {
  if (command === undefined) return null;
  const commands = new Set(
    Object.values(plugins)
      .filter(plugin => plugin.name === name || plugin.bases?.includes(name))
      .flatMap(({ manifest }) => manifest.commands.map(one => one.name)),
  );
  if (commands.has(command)) return null;
  const names = commands.size === 0 ? 'it has none now' : `one of ${[...commands].join(', ')}`;
  return invalidAt('/command', `must be a command of the plugin ${name}: ${names}`);
}

/** When a pause ends by itself: at `untilUs`, or after `lastsUs` alone. Without both, only a caller ends it. */
type PauseEnd = Pick<PauseRequest, 'untilUs' | 'lastsUs'>;

function readEnd({ until, for: lasting }: PauseBody, nowUs: number): PauseEnd | HttpProblem {
  if (until !== undefined && lasting !== undefined) return invalidAt('/for', 'must be absent if "until" is present');
  if (lasting !== undefined) {
    const us = (parseDuration(lasting) ?? 0) * 1000;
    if (us > 0 && us <= pauseUsMax) return { untilUs: null, lastsUs: us };
    return invalidAt('/for', `must be a duration from 1ms to ${pauseDaysMax}d, such as 30m`);
  }
  if (until === undefined) return { untilUs: null };
  const us = parseTimestamp(until);
  if (us === undefined) return invalidAt('/until', timeRule);
  if (us > nowUs && us <= nowUs + pauseUsMax) return { untilUs: Math.ceil(us), lastsUs: Math.ceil(us - nowUs) };
  return invalidAt('/until', `must be in the future, at most ${pauseDaysMax} days away`);
}
