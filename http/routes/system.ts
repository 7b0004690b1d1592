// The system (interface, 4.5): reload, doctor, selfcheck.

import { lookedMax } from '../../actors/job/selfcheck.ts';
import { Type } from '../../runtime/schema-type.ts';
import { type Problem, type ProblemItem, problem } from '../problem.ts';
import { anyOf, json, type Route, route } from '../route.ts';
import { timestamp } from '../timestamp.ts';

const section = 'Administration';

const reloadSchema = Type.Object({
  status: Type.Literal('ok'),
  reloaded_at: Type.String({ format: 'date-time' }),
  message: Type.String({ description: 'Names the settings that changed and need a restart.' }),
});

const postReload = route({
  method: 'POST',
  path: '/system/reload',
  section,
  summary:
    'Reads the configuration again and swaps it in one step; what is wrong with it is answered, and changes nothing.',
  access: anyOf('*'),
  query: {},
  body: null,
  problems: ['reload_refused'],
  notes:
    'Nothing that runs is stopped. `service.max_workers`, `service.plugin_env_passthrough`, `state.path`, `api.enabled` and the ' +
    'listen addresses stay as they are until a restart. SIGHUP does the same.',
  answers: { 200: { description: 'The new configuration is in force.', schema: reloadSchema } },
  find: () => null,
  handle({ engine }) {
    const reply = engine.administration.reload();
    if (reply.kind === 'refused') return refuse(reply.problems);
    const rest = reply.kept.length === 0 ? '' : `; a restart is needed for ${reply.kept.join(', ')}`;
    const message = `configuration reloaded${rest}`;
    return json(200, JSON.stringify({ status: 'ok', reloaded_at: timestamp(reply.atUs), message }));
  },
});

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
  answers: { 200: { description: 'The checks; degraded when one has not passed.', schema: doctorSchema } },
  find: () => null,
  async handle({ engine }) {
    const checks = await engine.administration.doctor();
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
    const { invariantsChecked, failures, detail } = await engine.administration.selfcheck();
    const status = failures.length === 0 ? 'ok' : 'failed';
    return json(200, JSON.stringify({ status, invariants_checked: invariantsChecked, failures, detail }));
  },
});

export const systemRoutes: readonly Route[] = [postReload, getDoctor, getSelfcheck];
