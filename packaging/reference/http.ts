// Generates docs/reference.md from the route table, the schemas and the table of problems.

import { type ApiScope, scopes } from '../../config/section/scope.ts';
import { jsonDepthMax } from '../../http/json.ts';
import { everywhere, problemsOf } from '../../http/openapi/route-problems.ts';
import { problemDetails } from '../../http/openapi/schemas.ts';
import { type ProblemCode, problems } from '../../http/problem.ts';
import type { Route, RouteAccess } from '../../http/route.ts';
import type { JsonObject } from '../../runtime/packing.ts';
import { treeJobsMax } from '../../service/json/job.ts';
import { shapeOf } from './shape.ts';

/** The whole page, in Markdown. */
export function httpPage(routes: readonly Route[]): string {
  const sections = [...new Set(routes.map(({ section }) => section))];
  const parts = [
    introduction,
    overview(routes),
    writeScopes(routes),
    ...sections.flatMap(section => [
      `## ${section}`,
      ...routes.filter(route => route.section === section).map(writeRoute),
    ]),
    writeProblems(),
    writeLimits(),
  ];
  return `${parts.join('\n\n')}\n`;
}

const introduction = `# The HTTP interface

<!-- Generated from the route table by "npm run reference". -->

- The address is \`api.listen\` of the configuration, \`127.0.0.1:8080\` by default. Bodies are JSON; timestamps are RFC 3339 in UTC.
- Every route that is not *open* requires \`Authorization: Bearer <token>\` with a token of \`api.auth.tokens\`. The scope \`*\` grants everything
  except the vault, whose routes accept only its admin token. \`plugin:rw\`, \`control:rw\`, \`events:rw\` and \`system:rw\` include their \`:ro\`. Open routes ignore
  credentials.
- \`HEAD\` responds like \`GET\`, without a body. A trailing slash makes a different path. Query parameters that are unknown, repeated or
  malformed are refused.
- Every response has an \`X-Request-Id\`: that of the request, if it is 1 to 128 characters of \`A-Z a-z 0-9 _ . : + / = ~ @ -\`, or a new one. Every
  response has \`X-Content-Type-Options: nosniff\`, and \`Cache-Control: no-store\` unless its route is open or it is an event stream.
- Discovery documents have a strong \`ETag\`. A request with the same \`If-None-Match\` gets 304.
- \`/openapi.json\` describes the commands of plugins, \`/openapi-pipelines.json\` the pipelines, and \`/openapi-control.json\` all other routes;
  \`GET /\` lists them.
- In the OpenAPI documents, an input schema is the schema of \`payload\`. Its definitions become components named
  \`<operationId>.<definition>\`. If two commands would have the same \`operationId\`, \`__2\` is appended to the second.`;

function overview(routes: readonly Route[]): string {
  const rows = routes.map(({ method, path, access, summary }) => {
    return `| [\`${method} ${path}\`](#${anchor(method, path)}) | ${accessWords(access)} | ${summary} |`;
  });
  return ['| route | access | purpose |', '| --- | --- | --- |', ...rows].join('\n');
}

const scopeNotes: { readonly [S in ApiScope]?: string } = {
  '*': 'everything except the vault',
  'plugin:ro': 'of commands, those of type `read`',
  'plugin:rw': 'commands of both types',
  'jobs:result:ro': 'results, errors, stderr, payloads and contexts in the answers that other scopes permit',
  'jobs:ro': 'as `jobs:result:ro`',
  'jobs:rw': 'as `jobs:result:ro`',
};

/** For each scope of a token, the routes that it permits. */
function writeScopes(routes: readonly Route[]): string {
  const rows = scopes.map(scope => {
    const own = routes.filter(({ access }) => access.kind === 'scopes' && access.anyOf.includes(scope));
    const only = scope === '*' ? 'only with it: ' : '';
    const named = own.map(({ method, path }) => `[\`${method} ${path}\`](#${anchor(method, path)})`).join(', ');
    const note = scopeNotes[scope] ?? '';
    return `| \`${scope}\` | ${note}${note === '' || named === '' ? '' : '; '}${only}${named} |`;
  });
  return `## Scopes

What a token with one scope permits, besides open routes, and routes that any token may call.

| scope | permits |
| --- | --- |
${rows.join('\n')}`;
}

/** The anchor of a route's heading, as common Markdown renderers derive it. */
function anchor(method: string, path: string): string {
  return `${method}-${path}`.toLowerCase().replace(/[^\w-]/g, '');
}

function accessWords(access: RouteAccess): string {
  switch (access.kind) {
    case 'open':
      return 'open';
    case 'signed':
      return 'signed';
    case 'token':
      return 'any token';
    case 'vault':
      return 'admin token';
    case 'scopes':
      return [...new Set([...access.anyOf, '*'])].map(scope => `\`${scope}\``).join(', ');
  }
}

function writeRoute(route: Route): string {
  const { method, path, summary, access, answers } = route;
  const needs = needsWords(access);
  const answered = Object.entries(answers).map(([status, { description, schema }]) => {
    const said = `**${status}** ${description}`;
    return schema === null ? said : `${said}\n\n${code(shapeOf(schema))}`;
  });
  const own = problemsOf(route).map(problemWords);
  return [
    `### ${method} ${path}`,
    `${summary} ${needs}`,
    ...(route.notes === undefined ? [] : [route.notes.trim()]),
    ...queryTable(route),
    ...(route.body === null ? [] : [`${bodyWords(access)}:\n\n${code(shapeOf(route.body))}`]),
    ...answered,
    ...(own.length === 0 ? [] : [`Refusals: ${own.join(', ')}.`]),
  ].join('\n\n');
}

function bodyWords(access: RouteAccess): string {
  return access.kind === 'vault' ? 'Body' : 'Optional body';
}

function needsWords(access: RouteAccess): string {
  if (access.kind === 'open') return 'Open.';
  if (access.kind === 'token') return 'Requires any valid token.';
  if (access.kind === 'vault') return 'Requires the admin token of the vault.';
  const words = accessWords(access);
  const also = access.kind === 'scopes' && access.also !== undefined ? `; ${access.also}` : '';
  return `Requires ${words.includes(',') ? 'one of' : 'the scope'} ${words}${also}.`;
}

function queryTable({ query }: Route): string[] {
  const rows = Object.entries(query).map(([name, { schema, rule }]) => {
    const standard = schema['default'] === undefined ? '' : `\`${schema['default']}\``;
    return `| \`${name}\` | ${cell(shapeOf(schema as JsonObject))} | ${standard} | ${cell(rule)} |`;
  });
  if (rows.length === 0) return [];
  return [['| query | type | default | rule |', '| --- | --- | --- | --- |', ...rows].join('\n')];
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}

function code(shape: string): string {
  return `\`\`\`\n${shape}\n\`\`\``;
}

function problemWords(name: ProblemCode): string {
  return `${problems[name].status} \`${name}\``;
}

function writeProblems(): string {
  const rows = Object.entries(problems).map(([name, kind]) => {
    const wait = 'retryAfterSeconds' in kind ? `${kind.retryAfterSeconds} s` : '';
    return `| ${kind.status} | \`${name}\` | ${kind.title} | ${wait} |`;
  });
  return `## Refusals

Every refusal is \`application/problem+json\` (RFC 9457). \`code\` is stable: clients can branch on it.

${code(shapeOf(problemDetails))}

Any request may get ${everywhere.map(problemWords).join(', ')}. If a request has several faults, the first
of these applies: 503, 401, 403, 404, 405, 413, 415, 400. A 401 has \`WWW-Authenticate: Bearer\`, a 405 \`Allow\`, and a 503 \`Retry-After\`.

| status | code | title | \`Retry-After\` |
| --- | --- | --- | --- |
${rows.join('\n')}`;
}

function writeLimits(): string {
  return `## Limits

| what | limit | beyond it |
| --- | --- | --- |
| body of a request | \`api.max_body_size\`, 1 MB by default | 413 |
| depth of a JSON body | ${jsonDepthMax} | 400 |
| integers in a JSON body, written without fraction or exponent | ±9007199254740991 | 400 with a pointer in \`errors\` |
| open jobs (queued, running or waiting for another attempt, neither paused nor held) | \`service.max_queue_depth\`, 1,000,000 by default | 503 \`queue_full\` |
| delayed, paused and held jobs | \`service.max_waiting\`, 10,000,000 by default | 503 \`too_many_waiting\` for delayed calls, for runs, and for plugins that have paused or held jobs |
| jobs in the tree of a synchronous call | ${treeJobsMax.toLocaleString('en-US')} | \`tree_truncated: true\`; \`GET /job/{job_id}/tree\` returns all of them |
| a synchronous call | \`timeout_secs\` of the pipeline, 30 by default | 202 with \`timeout_exceeded\` |`;
}
