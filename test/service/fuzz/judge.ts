// Whether an answer is one that the route table declares: its status, its code, and a body that fits its schema.

import { everywhere, problemsOf } from '../../../http/openapi/route-problems.ts';
import { problemDetails } from '../../../http/openapi/schemas.ts';
import { type ProblemCode, problems } from '../../../http/problem.ts';
import type { Route } from '../../../http/route.ts';
import { makeRouter } from '../../../http/router.ts';
import { makeSchemaCompiler, type SchemaCheck } from '../../../runtime/json-schema.ts';
import type { JsonObject } from '../../../runtime/packing.ts';
import { can } from '../../unit/http/differences.ts';
import type { Request } from './request.ts';
import type { Answer, Reply } from './wire.ts';

/** Says what is wrong with the reply; null when nothing is. */
export type Judge = (request: Request, reply: Reply) => string | null;

const jsonType = 'application/json';

/** The statuses of answers that the HTTP parser itself makes, without the headers of the service. */
const parserStatuses = can('a request that the parser refuses with a response') ? [] : [400, 404, 431, 505];

export function makeJudge(routes: readonly Route[]): Judge {
  const router = makeRouter(routes);
  const compile = makeSchemaCompiler();
  const compiled = (schema: JsonObject): SchemaCheck => {
    const result = compile(schema);
    if (!result.ok) throw new Error(result.message);
    return result.check;
  };
  const fitsProblem = compiled(problemDetails);
  const always = everywhere.filter(code => code !== 'internal_error');
  const declared = new Map(
    routes.map(route => {
      const refusals = problemsOf(route).filter(code => code !== 'stopping');
      const answers = Object.entries(route.answers).map(([status, { schema, types = [jsonType] }]) => {
        const check = schema === null || !types.includes(jsonType) ? null : compiled(schema);
        return [Number(status), { check, types }] as const;
      });
      return [route, { codes: new Set([...refusals, ...always]), answers: new Map(answers) }] as const;
    }),
  );

  function routeOf({ method, target }: Request): Route | undefined {
    const match = router.match(target.split('?')[0]!);
    if (typeof match === 'string') return undefined;
    const lower = method.toLowerCase();
    if (lower === 'get' || lower === 'head') return match.place.routes.GET;
    return lower === 'post' ? match.place.routes.POST : undefined;
  }

  /** Codes for a method that the path lacks: also the 403 and 404 codes of its routes, because only callers who may use the path get 405. */
  function codesAt({ target }: Request): Set<ProblemCode> {
    const match = router.match(target.split('?')[0]!);
    const routes = typeof match === 'string' ? [] : Object.values(match.place.routes);
    const codes = routes.flatMap(route => [...declared.get(route)!.codes]);
    return new Set([...always, ...codes.filter(code => [403, 404].includes(problems[code].status))]);
  }

  function judgeAnswer(request: Request, answer: Answer): string | null {
    const { status, headers, body } = answer;
    const requestId = headers.get('x-request-id');
    if (requestId === undefined) {
      if (request.isLoose && parserStatuses.includes(status)) return null;
      return `${status} without X-Request-Id`;
    }
    if (headers.get('x-content-type-options') !== 'nosniff') return 'without nosniff';
    const type = headers.get('content-type')?.split(';')[0];
    const isHead = request.method.toLowerCase() === 'head';
    const isProblem = type === 'application/problem+json';
    const hasBody = !isHead && status !== 304 && (type === jsonType || isProblem);
    const value = hasBody ? parsed(body) : undefined;
    if (hasBody && value === undefined) return `${status} with a body that is no JSON`;
    if (isProblem && hasBody) {
      const wrong = fitsProblem(value)[0];
      if (wrong) return `a problem whose ${wrong.pointer} ${wrong.message}`;
      const { code, status: told, request_id: id } = value as { code: ProblemCode; status: number; request_id: string };
      if (problems[code]?.status !== status || told !== status) return `${status} with the code ${code}`;
      if (id !== requestId) return 'a problem with another request id';
    }
    if (request.isLoose) return status >= 500 && status !== 505 ? `${status}` : null;

    const route = routeOf(request);
    const table = route && declared.get(route);
    const codes = table?.codes ?? codesAt(request);
    const code = isProblem && hasBody ? (value as { code: ProblemCode }).code : null;
    if (isProblem || status >= 400) {
      if (!isProblem) return `${status} of the type ${type}`;
      const known = code === null ? [...codes].some(one => problems[one].status === status) : codes.has(code);
      if (!known) return `${status} ${code ?? ''}, which ${name(route)} does not declare`;
    } else {
      const kind = table?.answers.get(status);
      if (!kind) return `${status}, which ${name(route)} does not declare`;
      if (status !== 304 && !kind.types.includes(type ?? '')) return `type ${type}`;
      const wrong = hasBody && kind.check ? kind.check(value)[0] : undefined;
      if (wrong) return `${status} of ${name(route)} whose ${wrong.pointer} ${wrong.message}`;
    }
    if (table && route.access.kind !== 'open' && !headers.has('cache-control')) return 'without Cache-Control';
    // 409 is allowed: a job that has not ended cannot be rerun, and one that has ended cannot be cancelled.
    if (request.isValid && status >= 400 && status !== 409) return `${status} ${code} for a valid request`;
    return null;
  }

  return (request, reply) => {
    if (reply.kind === 'silent') return 'no answer';
    if (reply.kind === 'closed') return request.isLoose ? null : 'closed without an answer';
    if (reply.surplus > 0 && !request.isLoose) return `${reply.surplus} bytes behind the answer`;
    return judgeAnswer(request, reply);
  };
}

function name(route: Route | undefined): string {
  return route ? `${route.method} ${route.path}` : 'nothing';
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(utf8.decode(body)) as unknown;
  } catch {
    return undefined;
  }
}
