// The system routes: reload, doctor, selfcheck (docs/contract.md#for-operators).

import type { QueuedJobs } from '../../actors/job/protocol.ts';
import { lookedMax } from '../../actors/job/views/selfcheck.ts';
import { restartSettings } from '../../config/section/restart.ts';
import { Type } from '../../runtime/schema-type.ts';
import { timestamp } from '../../service/json/timestamp.ts';
import { ReadsDown, readsDownDetail } from '../../service/reads/reads.ts';
import { type Problem, type ProblemItem, problem } from '../problem.ts';
import { flag, oneOf } from '../query.ts';
import { anyOf, json, type Route, route } from '../route.ts';

const section = 'Administration';
const restartKeys = restartSettings.map(({ key, isSwitch }) => `\`${key}\`${isSwitch ? ' (on or off)' : ''}`);

const reloadSchema = Type.Object({
  status: Type.Literal('ok'),
  reloaded_at: Type.String({ format: 'date-time' }),
  message: Type.String({
    description: 'Names the settings that changed and need a restart, and the jobs that are held.',
  }),
});

const trialSchema = Type.Object({
  errors: Type.Array(Type.String()),
  warnings: Type.Array(Type.String()),
  held: Type.Array(Type.Object({ plugin: Type.String(), command: Type.String(), jobs: Type.Integer({ minimum: 1 }) }), {
    description: 'Queued jobs that are not held now and would be.',
  }),
});

const postReload = route({
  method: 'POST',
  path: '/system/reload',
  section,
  summary:
    'Reads the configuration again and swaps it in one step; what is wrong with it is answered, and changes nothing.',
  access: anyOf('*'),
  query: { dry_run: flag, hold: oneOf(['refuse']) },
  body: null,
  problems: ['reload_refused', 'reload_would_hold', 'unavailable'],
  notes:
    `Nothing that runs is stopped. ${restartKeys.slice(0, -1).join(', ')} and ${restartKeys.at(-1)} keep their values until the ` +
    'next start; the message names those that changed. SIGHUP does the same. Queued jobs of a plugin or command that the new ' +
    'configuration does not have are held; the message counts what is held. `hold=refuse` refuses a reload that would hold more jobs ' +
    'than are held now. `dry_run=true` changes nothing: it answers `errors`, `warnings`, and `held`, the jobs that a reload would hold.',
  answers: {
    200: {
      description: 'The new configuration is in force; or what was found, with `dry_run`.',
      schema: Type.Union([reloadSchema, trialSchema]),
    },
  },
  find: () => null,
  async handle({ engine, query }) {
    if (query.dry_run === true) {
      const { held, ...found } = await engine.administration.tryReload();
      return held === null ? problem('unavailable', unknownHeld) : json(200, JSON.stringify({ ...found, held }));
    }
    const reply = await engine.administration.reload({ refuseHeld: query.hold === 'refuse' });
    if (reply.kind === 'refused') return refuse(reply.problems);
    if (reply.kind === 'would_hold') return refuseToHold(reply.held);
    const rest = reply.kept.length === 0 ? '' : `; a restart is needed for ${reply.kept.join(', ')}`;
    const held = reply.held.length === 0 ? '' : `; held now: ${reply.held.map(heldLine).join(', ')}`;
    const message = `configuration reloaded${rest}${held}`;
    return json(200, JSON.stringify({ status: 'ok', reloaded_at: timestamp(reply.atUs), message }));
  },
});

const unknownHeld = 'the ledger cannot say right now which jobs would be held';

function heldLine({ plugin, command, jobs }: QueuedJobs): string {
  return `${jobs} ${jobs === 1 ? 'job' : 'jobs'} of ${plugin}.${command}`;
}

function refuseToHold(held: readonly QueuedJobs[] | null): Problem {
  if (held === null) return problem('unavailable', unknownHeld);
  const errors = held.map(jobs => ({ pointer: '', message: heldLine(jobs) }));
  const detail = `it would hold ${held.map(heldLine).join(', ')}; the old configuration stays in force`;
  return problem('reload_would_hold', detail, { errors });
}

function refuse(lines: readonly string[]): Problem {
  const errors = lines.map(line => ({ pointer: pointerOf(line), message: line }));
  const detail = `the configuration has ${lines.length === 1 ? 'an error' : `${lines.length} errors`}; the old one stays in force`;
  return problem('reload_refused', detail, { errors });
}

/** Of `file:line:column: pipelines[0].steps[1].uses: what is wrong`: where in the configuration that is. */
function pointerOf(line: string): ProblemItem['pointer'] {
  const [, path] = /:\d+:\d+: ([A-Za-z_][\w.[\]-]*): /.exec(line) ?? [];
  return path === undefined ? '' : `/${path.replaceAll(/\[(\d+)\]/g, '.$1').replaceAll('.', '/')}`;
}

const doctorSchema = Type.Object({
  status: Type.Union([Type.Literal('ok'), Type.Literal('degraded')]),
  checks: Type.Array(Type.Object({ name: Type.String(), passed: Type.Boolean(), detail: Type.String() })),
});

const getDoctor = route({
  method: 'GET',
  path: '/system/doctor',
  section,
  summary: 'Whether the service could be started as things are now, and what around it is not as it should be.',
  access: anyOf('system:ro', 'system:rw'),
  query: {},
  body: null,
  notes:
    'One look at a time: whoever asks while one is under way gets what that one finds. Sandboxes are tried once a minute, because each ' +
    'try starts processes.',
  answers: { 200: { description: 'The checks; degraded when one has not passed.', schema: doctorSchema } },
  find: () => null,
  async handle({ engine }) {
    const checks = await engine.administration.doctor().catch(unlessDown);
    if ('kind' in checks) return checks;
    const status = checks.every(({ passed }) => passed) ? 'ok' : 'degraded';
    return json(200, JSON.stringify({ status, checks }));
  },
});

const selfcheckSchema = Type.Object({
  status: Type.Union([Type.Literal('ok'), Type.Literal('failed')]),
  invariants_checked: Type.Integer(),
  failures: Type.Array(Type.Object({ invariant: Type.String(), detail: Type.String() })),
  detail: Type.String({ description: 'How much of the store was looked at.' }),
});

const getSelfcheck = route({
  method: 'GET',
  path: '/system/selfcheck',
  section,
  summary: 'Compares what the running store holds with itself.',
  access: anyOf('system:ro', 'system:rw'),
  query: {},
  body: null,
  notes:
    `Looks at all of each table up to ${lookedMax} records (a block of jobs counts as its jobs), of a larger one at the newest; ` +
    '`detail` says how many. Counters are compared only where all jobs are looked at. What looks wrong is asked again before ' +
    'it is told, because work goes on meanwhile. Parents that retention has removed are no failure.',
  answers: { 200: { description: 'What does not agree.', schema: selfcheckSchema } },
  find: () => null,
  async handle({ engine }) {
    const found = await engine.administration.selfcheck().catch(unlessDown);
    if ('kind' in found) return found;
    const { invariantsChecked, failures, detail } = found;
    const status = failures.length === 0 ? 'ok' : 'failed';
    return json(200, JSON.stringify({ status, invariants_checked: invariantsChecked, failures, detail }));
  },
});

function unlessDown(error: unknown): Problem {
  if (error instanceof ReadsDown) return problem('unavailable', readsDownDetail);
  throw error;
}

export const systemRoutes: readonly Route[] = [postReload, getDoctor, getSelfcheck];
