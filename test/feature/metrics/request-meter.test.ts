// Which requests count for which route, and how many routes have series of their own.
import { expect, test } from 'vitest';
import { RequestMeter, routesMax } from '../../../service/metrics/request-meter.ts';

test('routes beyond the limit count together, and one that is known goes on after a reload has made it again', () => {
  const meter = new RequestMeter();
  const count = (n: number) => meter.count({ method: 'POST', path: `/webhook/${n}`, answers: {} }, 202, 1);
  for (let n = 0; n < routesMax + 2; n++) count(n);
  count(0);
  const [requests] = meter.families();
  const counted = new Map(requests!.samples.map(({ labels, value }) => [labels['route'], value]));
  expect([counted.size, counted.get('/webhook/0'), counted.get('none')]).toEqual([routesMax + 1, 2, 2]);
});
