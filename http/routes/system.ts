// The system routes: reload, doctor, selfcheck (docs/contract.md#for-operators).

import type { QueuedJobs } from '../../actors/job/protocol.ts';
import { checkedMax } from '../../actors/job/views/selfcheck.ts';
import { restartSettings } from '../../config/section/restart.ts';
import { Type } from '../../runtime/schema-type.ts';
import { countText } from '../../runtime/text.ts';
import { timestamp } from '../../service/json/timestamp.ts';
import { unlessDown } from '../answer.ts';
import { oneOfTexts } from '../openapi/schemas.ts';
import { type HttpProblem, type ProblemItem, problem } from '../problem.ts';
import { flag, oneOf } from '../query.ts';
import { anyOf, json, type Route, route } from '../route.ts';

const section = 'Administration';
const restartKeys = restartSettings.map(({ key, isSwitch }) => `\`${key}\`${isSwitch ? ' (on or off)' : ''}`);

const reloadSchema = Type.Object({
  status: Type.Literal('ok'),
  reloaded_at: Type.String({ format: 'date-time' }),
  message: Type.String({
    description: 'Names changed settings that need a restart, and the number of held jobs.',
  }),
  warnings: Type.Optional(
    Type.Array(Type.String(), { description: 'Problems that refuse nothing, such as a plugin that is not loaded.' }),
  ),
});

const trialSchema = Type.Object({
  errors: Type.Array(Type.String()),
  warnings: Type.Array(Type.String()),
  held: Type.Array(Type.Object({ plugin: Type.String(), command: Type.String(), jobs: Type.Integer({ minimum: 1 }) }), {
    description: 'Queued jobs that a reload would hold and that are not held now.',
  }),
});

const postReload = route({
  method: 'POST',
  path: '/system/reload',
  section,
  summary: 'Reloads the configuration in one step; an invalid one is refused with all its errors.',
  access: anyOf('*'),
  query: { dry_run: flag, hold: oneOf(['refuse']) },
  problems: ['reload_refused', 'reload_would_hold', 'unavailable'],
  notes:
    `Running work continues. ${restartKeys.slice(0, -1).join(', ')} and ${restartKeys.at(-1)} keep their values until the ` +
    'next start; the message names those that differ. SIGHUP has the same effect. Queued jobs of plugins and commands that the new ' +
    'configuration lacks are held; the message has their number. `hold=refuse` refuses a reload that would hold more jobs than are ' +
    'held now. `dry_run=true` changes nothing and returns `errors`, `warnings`, and `held`, the jobs that a reload would hold.',
  answers: {
    200: {
      description: 'The new configuration is in force; with `dry_run`, the findings.',
      schema: Type.Union([reloadSchema, trialSchema]),
    },
  },
  async handle({ engine, query }) {
    if (query.dry_run === true) {
      const { held, ...found } = await engine.administration.dryRunReload();
      return held === null ? problem('unavailable', unknownHeld) : json(200, JSON.stringify({ ...found, held }));
    }
    const reply = await engine.administration.reload({ refuseHeld: query.hold === 'refuse' });
    if (reply.kind === 'refused') return refuse(reply.problems);
    if (reply.kind === 'would_hold') return refuseToHold(reply.held);
    const rest = reply.kept.length === 0 ? '' : `; a restart is needed for ${reply.kept.join(', ')}`;
    const held = reply.held.length === 0 ? '' : `; held now: ${reply.held.map(heldLine).join(', ')}`;
    const message = `configuration reloaded${rest}${held}`;
    const { warnings } = reply;
    const body = {
      status: 'ok',
      reloaded_at: timestamp(reply.atUs),
      message,
      ...(warnings.length > 0 && { warnings }),
    };
    return json(200, JSON.stringify(body));
  },
});

const unknownHeld = 'the ledger cannot say right now which jobs would be held';

function heldLine({ plugin, command, jobs }: QueuedJobs): string {
  return `${countText(jobs, 'job')} of ${plugin}.${command}`;
}

function refuseToHold(held: readonly QueuedJobs[] | null): HttpProblem {
  if (held === null) return problem('unavailable', unknownHeld);
  const errors = held.map(jobs => ({ pointer: '', message: heldLine(jobs) }));
  const detail = `it would hold ${held.map(heldLine).join(', ')}; the old configuration stays in force`;
  return problem('reload_would_hold', detail, { errors });
}

function refuse(lines: readonly string[]): HttpProblem {
  const errors = lines.map(line => ({ pointer: pointerOf(line), message: line }));
  const detail = `the configuration has ${lines.length === 1 ? 'an error' : `${lines.length} errors`}; the old one stays in force`;
  return problem('reload_refused', detail, { errors });
}

/** The path in a line such as `file:line:column: pipelines[0].steps[1].uses: message`, as a JSON Pointer; empty if the line has no path. */
function pointerOf(line: string): ProblemItem['pointer'] {
  const [, path] = /:\d+:\d+: ([A-Za-z_][\w.[\]-]*): /.exec(line) ?? [];
  return path === undefined ? '' : `/${path.replaceAll(/\[(\d+)\]/g, '.$1').replaceAll('.', '/')}`;
}

const doctorSchema = Type.Object({
  status: oneOfTexts(['ok', 'degraded']),
  checks: Type.Array(Type.Object({ name: Type.String(), passed: Type.Boolean(), detail: Type.String() })),
});

const getDoctor = route({
  method: 'GET',
  path: '/system/doctor',
  section,
  summary: 'Checks the environment, and whether the service could start now.',
  access: anyOf('system:ro', 'system:rw'),
  notes:
    'Concurrent calls share one examination. Sandboxes are tried at most once a minute, because each try starts processes.',
  answers: { 200: { description: 'The checks. The status is degraded if one has not passed.', schema: doctorSchema } },
  async handle({ engine }) {
    const checks = await engine.administration.doctor().catch(unlessDown);
    if ('kind' in checks) return checks;
    const status = checks.every(({ passed }) => passed) ? 'ok' : 'degraded';
    return json(200, JSON.stringify({ status, checks }));
  },
});

const selfcheckSchema = Type.Object({
  status: oneOfTexts(['ok', 'failed']),
  invariants_checked: Type.Integer(),
  failures: Type.Array(Type.Object({ invariant: Type.String(), detail: Type.String() })),
  detail: Type.String({ description: 'How much of the store was checked.' }),
});

const getSelfcheck = route({
  method: 'GET',
  path: '/system/selfcheck',
  section,
  summary: 'Compares the tables of the running store with each other.',
  access: anyOf('system:ro', 'system:rw'),
  notes:
    `Checks all records of a table with up to ${checkedMax} records (a block of jobs counts as its jobs), and of a larger table the ` +
    'last ones by key; `detail` says how many. Counters are compared only if all jobs are checked. A discrepancy is checked again before ' +
    'it is reported, because work continues meanwhile. A parent that retention has removed is not a failure.',
  answers: { 200: { description: 'The invariants that do not hold.', schema: selfcheckSchema } },
  async handle({ engine }) {
    const found = await engine.administration.selfcheck().catch(unlessDown);
    if ('kind' in found) return found;
    const { invariantsChecked, failures, detail } = found;
    const status = failures.length === 0 ? 'ok' : 'failed';
    return json(200, JSON.stringify({ status, invariants_checked: invariantsChecked, failures, detail }));
  },
});

export const systemRoutes: readonly Route[] = [postReload, getDoctor, getSelfcheck];
