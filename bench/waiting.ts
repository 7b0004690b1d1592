// Measures how long a caller waits for a job with ?wait=, and for a synchronous pipeline with that job as its only
// step. The two calls alternate.
import { NumberedRequest } from './load/request.ts';
import { nowUs } from './moment.ts';
import { Samples } from './percentile.ts';
import type { Service } from './service.ts';

export const oneStep = {
  name: 'one',
  on: 'bench.one',
  execution_mode: 'synchronous',
  steps: [{ id: 'only', uses: 'noop.run' }],
};

const paths = { job: '/plugin/noop/run?wait=60s', run: '/pipeline/one' };

/** Makes each of the two calls `samples` times. Resolves with the medians of their times. */
export async function runWaits(service: Service, samples: number) {
  const { host } = service.url;
  const connection = await service.connect();
  const timed = Object.values(paths).map(path => ({
    request: new NumberedRequest({ path, host, token: service.token }),
    timesUs: new Samples(),
  }));
  for (let n = 0; n < samples; n++) {
    for (const { request, timesUs } of timed) {
      const startUs = nowUs();
      const { status, body } = await connection.ask(request.number(n));
      timesUs.add(nowUs() - startUs);
      const text = body.toString();
      if (status !== 200 || !text.includes('"status":"succeeded"')) throw new Error(`answered ${status} ${text}`);
    }
  }
  connection.close();
  const [job, run] = timed.map(({ timesUs }) => timesUs.percentile(50));
  return { jobP50Us: job!, runP50Us: run! };
}
