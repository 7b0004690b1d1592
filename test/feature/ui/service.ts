// The service that the tests and pictures of the dashboard look at: the plugin of docs/tour.md, and others that fail, wait and answer.
import type { Settings } from '../../service/gateway/configuration.ts';
import { everythingToken } from '../../service/gateway/configuration.ts';
import type { Gateway } from '../../service/gateway/gateway.ts';
import { echo, failing, step, worker } from '../../service/gateway/sources.ts';
import { blocksOf } from '../kit/page.ts';
import type { Seeded } from './screens.ts';

const tour = blocksOf(new URL('../../../docs/tour.md', import.meta.url));
const parcels = tour.find(({ name }) => name === 'plugins/parcels/index.mjs')!.text;
/** The carriers of docs/tour.md before its repair. */
export const carriers = Object.fromEntries(
  ['AT', 'BE', 'DE', 'DK', 'FR', 'IT', 'NL', 'PL', 'SE'].map(name => [name, 'post']),
);

export const viewerToken = 'token-of-a-viewer-0123456789';
/** A token that may cancel jobs, but run none. */
export const stopperToken = 'token-of-a-stopper-0123456789';
/** May act on jobs, and run the commands that read. */
export const commandToken = 'token-of-commands-0123456789';
/** May run everything, and see jobs without their runs. */
export const statusToken = 'token-of-a-starter-0123456789';
/** May pause and resume, and read no job. */
export const pauserToken = 'token-of-a-pauser-0123456789';
/** May see the jobs of runs, and no job alone. */
export const treeToken = 'token-of-a-tree-0123456789';
const readScopes = ['jobs:ro', 'plugin:ro', 'events:ro'];
const once = { max_attempts: 1 };
/** How long a seeded run may take. */
const settleMsMax = 500_000;

const greetSchema = {
  type: 'object',
  required: ['name'],
  properties: {
    name: { type: 'string', description: 'Whom to greet.' },
    times: { type: 'integer', minimum: 1 },
    loud: { type: 'boolean' },
  },
};

export const greeter = {
  code: `export function handle({ event }) {
  const { name, times = 1, loud = false } = event.payload;
  const text = Array(times).fill('hello ' + name).join(', ');
  return { result: loud ? text.toUpperCase() : text };
}`,
  description: 'Greets one person.',
  commands: { handle: { input_schema: greetSchema, description: 'Say hello.' } },
};

export const settings: Settings = {
  plugins: { echo, failing, greeter, parcels, step, worker },
  instances: {
    failing: { retry: once },
    mailer: { uses: 'failing', retry: once },
    parcels: { config: { carriers } },
    step: { retry: once },
  },
  pipelines: [
    {
      name: 'send-parcels',
      description: 'Prices and labels the parcels of the day.',
      steps: [
        { id: 'pick', uses: 'parcels.pick' },
        { id: 'price', uses: 'parcels.price', foreach: 'payload.parcels', fail_fast: false },
        { id: 'label', uses: 'parcels.label' },
        { id: 'report', uses: 'parcels.report', join: 'all' },
      ],
    },
    {
      name: 'fan',
      steps: [
        { id: 'each', uses: 'step', foreach: 'payload.list', fail_fast: false },
        { id: 'all', uses: 'step', join: 'all' },
      ],
    },
    {
      name: 'held',
      steps: [
        { id: 'first', uses: 'step' },
        { id: 'holds', uses: 'worker' },
      ],
    },
    {
      name: 'news',
      description: 'Branches, a condition and a final step.',
      steps: [
        { id: 'read', uses: 'step' },
        {
          id: 'both',
          split: [
            {
              name: 'print',
              steps: [
                { id: 'set', uses: 'echo' },
                { id: 'print', uses: 'echo' },
              ],
            },
            {
              name: 'web',
              steps: [{ id: 'publish', uses: 'echo', if: { path: 'payload.web', op: 'eq', value: true } }],
            },
          ],
        },
        { id: 'archive', uses: 'echo', join: 'all' },
      ],
      finally: [{ id: 'tell', uses: 'echo' }],
    },
  ],
  schedules: [
    { id: 'nightly', cron: '30 2 * * *', timezone: 'Europe/Berlin', pipeline: 'send-parcels', payload: { count: 3 } },
    { id: 'heartbeat', every: '1h', plugin: 'echo' },
  ],
  api: {
    auth: {
      tokens: [
        { name: 'test', token: everythingToken, scopes: ['*'] },
        { name: 'viewer', token: viewerToken, scopes: readScopes },
        { name: 'stopper', token: stopperToken, scopes: ['jobs:rw'] },
        { name: 'commands', token: commandToken, scopes: ['jobs:rw', 'plugin:ro'] },
        { name: 'starter', token: statusToken, scopes: ['jobs:status:ro', 'plugin:rw'] },
        { name: 'pauser', token: pauserToken, scopes: ['control:rw', 'plugin:ro'] },
        { name: 'tree', token: treeToken, scopes: ['jobs:tree:ro'] },
      ],
    },
  },
};

/** A little of everything: jobs of each status, two runs of the same pipeline, and failures. */
export async function seed(gateway: Gateway, parcelCount = 60): Promise<Seeded> {
  const runs: string[] = [];
  for (let n = 0; n < 2; n++) {
    const run = await gateway.run('send-parcels', { count: parcelCount });
    await gateway.settled(run, settleMsMax);
    runs.push(run);
  }
  await gateway.ran('news', { web: true });
  const failed = await gateway.finished('mailer/handle', {
    message: 'mail server 7 refused the connection',
    retry: false,
  });
  for (let n = 0; n < 5; n++)
    await gateway.finished('mailer/handle', { message: `mail server ${n} refused the connection`, retry: false });
  await gateway.finished('greeter/handle', { name: 'Ada' });
  await gateway.finished('echo/say', { text: 'as sent' });
  await gateway.call('POST', '/control/plugin/echo/pause', { reason: 'the printer is out of paper' });
  await gateway.submit('echo/say');
  const where = { plugin: 'mailer', status: 'failed' };
  const { body } = await gateway.call('POST', '/actions', {
    do: 'rerun',
    where,
    limit: 1,
    reason: 'the mail server is back',
  });
  await gateway.settled(String(body['action_id']));
  return { runs, job: failed.job_id };
}

/** A run with 100,000 children, and many jobs of different sizes and ends. */
export async function seedMuch(gateway: Gateway): Promise<Seeded> {
  const seeded = await seed(gateway, 1_000);
  const large = await gateway.run('fan', {
    list: Array.from({ length: 100_000 }, (_, n) =>
      n % 2_000 === 7 ? { fail: `no such host db-${n}.example.org` } : {},
    ),
  });
  await gateway.settled(large, settleMsMax);
  const payloads = Array.from({ length: 10_000 }, (_, n) => ({
    n,
    message: `timeout after ${n} ms`,
    retry: false,
    times: n % 9,
  }));
  await gateway.call('POST', '/plugin/failing/handle/batch', { payloads });
  for (let n = 0; n < 4; n++)
    await gateway.call('POST', '/plugin/greeter/handle/batch', { payloads: payloads.map(() => ({ name: 'Ada' })) });
  return { ...seeded, runs: [large, ...seeded.runs] };
}
