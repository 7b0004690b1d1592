// The calls that a start prints have payloads that the service accepts.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { newGateway } from '../../../cli/scaffold/gateway.ts';
import { hints } from '../../../cli/start/hints.ts';
import type { Config } from '../../../config/config.ts';
import { loadConfig } from '../../../config/load.ts';
import type { JsonObject } from '../../../runtime/packing.ts';

test('the calls for a new gateway have sample payloads, quoted for a shell', () => {
  const cwd = realpathSync(mkdtempSync(join(tmpdir(), 'headgate-hints-')));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  for (const { path, text } of newGateway('127.0.0.1:0')) {
    mkdirSync(dirname(join(cwd, path)), { recursive: true });
    writeFileSync(join(cwd, path), text);
  }
  const loaded = loadConfig({ cwd, env: {} });
  if (!loaded.ok) throw new Error(loaded.problems.join('\n'));
  const { config } = loaded;
  expect(bodiesOf(config)).toEqual(['{"payload":{"people":["Ada","Grace"]}}', '{"payload":{"name":"x"}}']);
  const [pipeline] = config.pipelines;
  const inputSchema = { required: ['text'], properties: { text: { default: "it's" } } };
  expect(bodiesOf({ ...config, pipelines: [{ ...pipeline!, inputSchema }] })[0]).toBe(
    `{"payload":{"text":"it'\\''s"}}`,
  );
  const optional = { properties: inputSchema.properties };
  expect(bodiesOf({ ...config, pipelines: [{ ...pipeline!, inputSchema: optional }] })[0]).toBe('{"payload":{}}');
  const bodyOf = (schema: JsonObject) => bodiesOf({ ...config, pipelines: [{ ...pipeline!, inputSchema: schema }] })[0];
  expect(bodyOf({ $ref: '#/$defs/a', $defs: { a: inputSchema } })).toContain('"text"');
  expect(bodyOf({ allOf: [inputSchema] })).toContain('"text"');
  // Without a sample that fits or is short, the payload is empty.
  expect(bodyOf({ required: ['a'], properties: { a: { type: 'string', pattern: '^y' } } })).toBe('{"payload":{}}');
  for (const many of [
    { minLength: 1e9, type: 'string' },
    { minItems: 1e9, type: 'array' },
  ] as const)
    expect(bodyOf({ required: ['a'], properties: { a: many } })).toBe('{"payload":{}}');
  const { inputSchema: _, ...bare } = pipeline!;
  expect(bodiesOf({ ...config, pipelines: [bare] })[0]).toBe('{"payload":{}}');
});

function bodiesOf(config: Config): readonly string[] {
  const lines = hints({ config: () => config, url: 'http://h', local: null, ended: Promise.resolve(0), stop() {} });
  return lines.flatMap(line => / -d '(.*)'$/.exec(line)?.[1] ?? []);
}
