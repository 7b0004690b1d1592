// docs/reference.md: what the route table says, and nothing else.
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { everywhere, problemsOf } from '../../../http/openapi/route-problems.ts';
import { problems } from '../../../http/problem.ts';
import { apiRoutes } from '../../../http/routes/api.ts';
import { httpPage } from '../../../packaging/reference/http.ts';
import { shapeOf } from '../../../packaging/reference/shape.ts';
import { controlDocumentOf } from './documents.ts';

const page = httpPage(apiRoutes);

describe('docs/reference.md', () => {
  test('is not stale (npm run reference writes it)', () => {
    const file = new URL('../../../docs/reference.md', import.meta.url);
    if (process.env['HEADGATE_WRITE_REFERENCE']) writeFileSync(file, page);
    expect(readFileSync(file, 'utf8')).toBe(page);
  });

  test.each(apiRoutes.map(route => [`${route.method} ${route.path}`, route] as const))('tells of %s', (name, route) => {
    expect(page).toContain(`\n### ${name}\n\n${route.summary}`);
    expect(route.summary).toMatch(/\.$/);
    expect(Object.keys(route.answers).length).toBeGreaterThan(0);
  });

  test('and the document of /openapi-control.json is not stale either', () => {
    const file = new URL('golden/control.json', import.meta.url);
    const written = `${JSON.stringify(controlDocumentOf(), null, 2)}\n`;
    if (process.env['HEADGATE_WRITE_REFERENCE']) writeFileSync(file, written);
    expect(readFileSync(file, 'utf8')).toBe(written);
  });

  test('tells of every code', () => {
    for (const code of Object.keys(problems)) expect(page).toContain(`| \`${code}\` |`);
  });
});

test('the refusals of a route follow from its access, method and body, and its own words', () => {
  const call = apiRoutes.find(({ path }) => path === '/plugin/{plugin}/{command}')!;
  expect(problemsOf(call)).toEqual(
    expect.arrayContaining(['invalid_json', 'forbidden', 'unknown_plugin', 'body_too_large', 'queue_full', 'stopping']),
  );
  for (const route of apiRoutes) for (const code of problemsOf(route)) expect(everywhere).not.toContain(code);
});

describe('a shape', () => {
  test.each([
    [{ type: 'string', format: 'uuid' }, 'string (uuid)'],
    [{ type: 'integer', minimum: 1, maximum: 200 }, 'integer (from 1 to 200)'],
    [{ type: ['string', 'null'] }, 'string | null'],
    [{ anyOf: [{ const: 'a' }, { const: 'a' }, { type: 'null' }] }, '"a" | null'],
    [{ type: 'array', items: { enum: ['a', 'b'] } }, '("a" | "b")[]'],
    [{ type: 'object' }, 'object'],
    [{}, 'any'],
    [
      {
        type: 'object',
        required: ['a'],
        properties: {
          a: { type: 'string', description: 'One.' },
          b: { type: 'array', description: 'Many.', items: { type: 'object', properties: { c: {} } } },
        },
        additionalProperties: { type: 'integer' },
      },
      '{\n  a: string  // One.\n  b?: {  // Many.\n    c?: any\n  }[]\n  [name]: integer\n}',
    ],
  ])('of %j', (schema, shape) => {
    expect(shapeOf(schema)).toBe(shape);
  });
});
