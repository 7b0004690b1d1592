// The examples of docs/engine.md about delayed jobs, waiting, batches and tags do what the page says.
import { expect, test } from 'vitest';
import { type Job, shareGateway } from '../../service/gateway/gateway.ts';
import { echo } from '../../service/gateway/sources.ts';
import { blocksOf } from '../kit/page.ts';
import { runInShell } from '../kit/shell.ts';

const page = blocksOf(new URL('../../../docs/engine.md', import.meta.url));
const textsOf = (wanted: string, language: string) =>
  page.filter(({ name, language: one }) => name === wanted && one === language).map(({ text }) => text);

const gateway = shareGateway({
  plugins: { greet: echo },
  pipelines: [{ name: 'import', steps: [{ id: 'only', uses: 'greet' }] }],
});

const shell = (text: string) => runInShell(gateway, text);

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

test('a delayed job says why it waits, gets another time, and runs now', async () => {
  const [commands] = textsOf('delayed', 'sh');
  const [why, rescheduled, ran] = (await shell(commands!)).trim().split('\n');
  const withoutTimes = (text: string) => text.replaceAll(/\d{4}-\d\d-\d\d [\d:.]+/g, 'TIME');
  expect(withoutTimes(why!)).toBe(withoutTimes(textsOf('delayed', 'text')[0]!.trim()));
  expect(rescheduled).toMatch(/^\S+ runs at 20\d\d-/);
  const id = rescheduled!.split(' ')[0]!;
  expect(ran).toContain(id);
  expect(await gateway.settled(id)).toMatchObject({ status: 'succeeded', result: { result: { name: 'Ada' } } });
});

test('a call that waits gets the job that has ended', async () => {
  const [call] = textsOf('waiting', 'sh');
  const job = JSON.parse(await shell(call!)) as Job;
  expect(job).toMatchObject({ status: 'succeeded', plugin: 'greet', result: { result: { name: 'Ada' } } });
});
