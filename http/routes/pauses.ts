// The routes that pause and resume plugins, commands, pipelines and the whole service (docs/engine.md#pauses).
import type { PauseRequest } from '../../actors/job/holds/pause-protocol.ts';
import { isRestoreHold, type PauseKind, type PauseTarget } from '../../actors/job/records/pause.ts';
import type { Config } from '../../config/config.ts';
import { parseDuration } from '../../config/quantity.ts';
import { Type } from '../../runtime/schema-type.ts';
import { pauseDocument, targetDocument } from '../../service/json/pause.ts';
import { parseTimestamp } from '../../service/json/timestamp.ts';
import { unsettledDocument } from '../../service/json/unsettled.ts';
import { count, counted, instant, reasonSchema } from '../openapi/schemas.ts';
import { type HttpProblem, isProblem, mismatchProblem, problem } from '../problem.ts';
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
  kind: Type.Union([Type.Literal('system'), Type.Literal('pipeline'), Type.Literal('plugin')]),
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
    oldest_at: Type.Union([instant, Type.Null()]),
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

const notes = {
  plugin:
    'Jobs of the plugin, and of instances that build on it, are accepted and wait; running jobs continue. With `command`, only jobs of ' +
    'that command wait. Each target has at most one pause: a second one replaces the first.',
  pipeline:
    'New runs are accepted and wait. Open runs finish the jobs that they have; no further step starts. Pipelines that their steps ' +
    'have called continue, unless they are paused themselves.',
  system: 'No job and no step of a pipeline starts.',
};

function pauseRoute(kind: PauseKind): Route {
  const isPlugin = kind === 'plugin';
  return route({
    method: 'POST',
    path: pathOf(kind, 'pause'),
    section,
    summary: `Pauses ${nounOf(kind)}: nothing new starts until it is resumed, even after a restart.`,
    notes: notes[kind],
    access: anyOf('control:rw'),
    body: Type.Object({ ...(isPlugin && { command }), ...pauseFields }, { additionalProperties: false }),
    problems: [...unknownOf(kind), 'unavailable', 'disk_full', 'stopping'],
    answers: { 200: { description: 'It is paused.', schema: pauseSchema } },
    find: call => known(call.config, kind, nameIn(call)),
    async handle(call) {
      const { engine, found: name, caller } = call;
      const body = (call.body ?? {}) as PauseBody;
      const end = readEnd(body, call.nowMs() * 1000);
      if (end.kind === 'problem') return end;
      const wrong = body.command === undefined ? null : wrongCommand(call.config, name, body.command);
      if (wrong) return wrong;
      const reply = await engine.pauses.pause({
        kind,
        name,
        command: body.command ?? null,
        reason: body.reason ?? null,
        by: caller!.origin,
        ...end.times,
        rejects: body.reject === true,
      });
      if (reply.kind === 'refused') return problem(reply.refusal, refusalDetails[reply.refusal]);
      return json(200, JSON.stringify(pauseDocument(reply.pause!)));
    },
  });
}

function resumeRoute(kind: PauseKind): Route {
  const isPlugin = kind === 'plugin';
  return route({
    method: 'POST',
    path: pathOf(kind, 'resume'),
    section,
    summary: `Resumes ${nounOf(kind)}. A target that is not paused is not an error.`,
    notes: 'Ends only the pause of this target. Other pauses may still hold its jobs.',
    access: anyOf('control:rw'),
    body: Type.Object(isPlugin ? { command } : {}, { additionalProperties: false }),
    problems: [...unknownOf(kind), 'unavailable', 'disk_full', 'stopping'],
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
        const wrong = body.command === undefined ? null : wrongCommand(config, name, body.command);
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

function pathOf(kind: PauseKind, verb: 'pause' | 'resume'): string {
  return kind === 'system' ? `/control/system/${verb}` : `/control/${kind}/{${kind}}/${verb}`;
}

function nounOf(kind: PauseKind): string {
  if (kind === 'system') return 'the whole service';
  return kind === 'plugin' ? 'a plugin, or one of its commands' : 'a pipeline';
}

function unknownOf(kind: PauseKind) {
  if (kind === 'system') return [];
  return kind === 'plugin' ? (['unknown_plugin'] as const) : (['unknown_pipeline'] as const);
}

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

/** The refusal of an unknown command; null if the plugin, or an instance that builds on it, has the command. */
function wrongCommand({ plugins }: Config, name: string, command: string): HttpProblem | null {
  const commands = new Set(
    Object.values(plugins)
      .filter(plugin => plugin.name === name || plugin.bases?.includes(name))
      .flatMap(({ manifest }) => manifest.commands.map(one => one.name)),
  );
  if (commands.has(command)) return null;
  const names = commands.size === 0 ? 'it has none now' : `one of ${[...commands].join(', ')}`;
  const message = `must be a command of the plugin ${name}: ${names}`;
  return mismatchProblem('invalid_request', [{ pointer: '/command', message }]);
}

/** When a pause ends by itself: at `untilUs`, or after `lastsUs` alone. Without both, only a caller ends it. */
type PauseEnd = { readonly kind: 'end'; readonly times: Pick<PauseRequest, 'untilUs' | 'lastsUs'> };

function readEnd({ until, for: lasting }: PauseBody, nowUs: number): PauseEnd | HttpProblem {
  const refuse = (pointer: string, message: string) => mismatchProblem('invalid_request', [{ pointer, message }]);
  if (until !== undefined && lasting !== undefined) return refuse('/for', 'must be absent if "until" is present');
  if (lasting !== undefined) {
    const us = (parseDuration(lasting) ?? 0) * 1000;
    const isInRange = us > 0 && us <= pauseUsMax;
    if (isInRange) return { kind: 'end', times: { untilUs: null, lastsUs: us } };
    return refuse('/for', `must be a duration from 1ms to ${pauseDaysMax}d, such as 30m`);
  }
  if (until === undefined) return { kind: 'end', times: { untilUs: null } };
  const us = parseTimestamp(until);
  if (us === undefined) return refuse('/until', 'must be an RFC 3339 time, such as 2026-01-31T12:00:00Z');
  const isInRange = us > nowUs && us <= nowUs + pauseUsMax;
  if (isInRange) return { kind: 'end', times: { untilUs: Math.ceil(us), lastsUs: Math.ceil(us - nowUs) } };
  return refuse('/until', `must be in the future, at most ${pauseDaysMax} days away`);
}
