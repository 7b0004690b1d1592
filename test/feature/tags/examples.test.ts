// The examples of docs/engine.md about tags and batches do what the page says.
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { everythingToken } from '../../service/gateway/configuration.ts';
import { shareGateway } from '../../service/gateway/gateway.ts';
import { echo } from '../../service/gateway/sources.ts';
import { blocksOf } from '../kit/page.ts';

const bash = promisify(execFile);
const page = blocksOf(new URL('../../../docs/engine.md', import.meta.url));
const textsOf = (wanted: string, language: string) =>
  page.filter(({ name, language: one }) => name === wanted && one === language).map(({ text }) => text);

const gateway = shareGateway({
  plugins: { greet: echo },
  pipelines: [{ name: 'import', steps: [{ id: 'only', uses: 'greet' }] }],
});

/** Runs a block of the page in a shell that has the command. */
async function shell(text: string): Promise<string> {
  const folder = join(gateway.directory, 'shell');
  mkdirSync(folder, { recursive: true });
  const main = resolve('dist/cli/main.js');
  writeFileSync(join(folder, 'headgate'), `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`);
  chmodSync(join(folder, 'headgate'), 0o755);
  const env = {
    ...process.env,
    PATH: `${folder}:${process.env['PATH']}`,
    HEADGATE_URL: gateway.url,
    HEADGATE_TOKEN: everythingToken,
  };
  const words = text.replaceAll('http://127.0.0.1:8080', gateway.url);
  return (await bash('bash', ['-e', '-c', words], { cwd: folder, env })).stdout;
}

async function tagged(tag: string): Promise<readonly { readonly job_id: string }[]> {
  const { body } = await gateway.call('GET', `/jobs?tag=${tag}`);
  return body['jobs'] as readonly { readonly job_id: string }[];
}

test('a batch from a file, by curl, and as JSON: each makes two jobs with the tag', async () => {
  const [fromFile, byCurl] = textsOf('batch', 'sh');
  const printed = (await shell(fromFile!)).trim().split('\n');
  expect((await tagged('campaign:spring')).map(({ job_id }) => job_id).toSorted()).toEqual(printed.toSorted());
  expect(printed).toHaveLength(2);
  const answer = JSON.parse(await shell(byCurl!));
  expect(answer).toMatchObject({ accepted: 2 });
  const [json] = textsOf('batch', 'json');
  const { status, body } = await gateway.call('POST', '/plugin/greet/handle/batch', json);
  expect([status, body['accepted'], (await tagged('campaign:spring')).length]).toEqual([202, 2, 6]);
  for (const [place, name] of ['Ada', 'Grace'].entries()) {
    const id = (body['job_ids'] as string[])[place]!;
    expect(await gateway.settled(id)).toMatchObject({ result: { result: { name } } });
  }
});

test('tags of a run, and commands that select by them', async () => {
  const [commands] = textsOf('tags', 'sh');
  const said = await shell(commands!);
  expect(said).toContain('a.csv');
  expect(said).toMatch(/0 jobs match/);
  const [json] = textsOf('tags', 'json');
  const { status, body } = await gateway.call('POST', '/pipeline/import', json);
  expect(status).toBe(202);
  await gateway.settled(String(body['job_id']));
  expect(await tagged('tenant:acme&tag=kind:nightly')).toHaveLength(4);
});
