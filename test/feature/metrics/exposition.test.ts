// The two formats of metrics as text, which of them a caller gets, and the room for series.

import { describe, expect, test } from 'vitest';
import { formatFor } from '../../../http/routes/metrics.ts';
import { bucketWith, secondsLimits } from '../../../runtime/buckets.ts';
import { formatId, parseId } from '../../../runtime/ids.ts';
import { MetricsWriter } from '../../../service/metrics/exposition.ts';
import { type MetricFamily, SeriesRoom } from '../../../service/metrics/family.ts';
import { TextBuffer } from '../../../service/metrics/text-buffer.ts';
import { fc } from '../../support/seed.ts';

const job = '0198c0de-0000-7000-8000-000000000001';
const families: readonly MetricFamily[] = [
  {
    name: 'things',
    type: 'counter',
    help: 'Things\nwith a \\.',
    samples: [{ labels: { name: 'a "quoted"\n\\ name' }, value: 3 }],
  },
  { name: 'nothing', type: 'gauge', help: 'Never seen.', samples: [] },
  {
    name: 'time_seconds',
    type: 'histogram',
    help: 'Time.',
    samples: [
      {
        labels: {},
        value: {
          limits: [0.5, 1],
          sum: 2.25,
          counts: [1, 0, 1],
          exampleOf: place => (place === 0 ? { us: 250_000, atUs: 1_700_000_000_123_456, job: parseId(job)! } : null),
        },
      },
    ],
  },
];

test('the format of Prometheus', () => {
  expect(String(new MetricsWriter().write(families, 'prometheus'))).toBe(`# HELP things_total Things\\nwith a \\\\.
# TYPE things_total counter
things_total{name="a \\"quoted\\"\\n\\\\ name"} 3
# HELP time_seconds Time.
# TYPE time_seconds histogram
time_seconds_bucket{le="0.5"} 1
time_seconds_bucket{le="1.0"} 1
time_seconds_bucket{le="+Inf"} 2
time_seconds_sum 2.25
time_seconds_count 2
`);
});

test('the format of OpenMetrics names the family of a counter without its suffix, shows examples, and ends with a mark', () => {
  const text = String(new MetricsWriter().write(families, 'openmetrics'));
  expect(text).toContain('# TYPE things counter\nthings_total{');
  expect(text).toContain(`time_seconds_bucket{le="0.5"} 1 # {job_id="${job}"} 0.25 1700000000.123\n`);
  expect(text.endsWith('time_seconds_count 2\n# EOF\n')).toBe(true);
});

test('a sample keeps its text, but not in the other format', () => {
  const writer = new MetricsWriter();
  for (const format of ['prometheus', 'openmetrics', 'prometheus', 'prometheus'] as const) {
    expect(String(writer.write(families, format))).toBe(String(new MetricsWriter().write(families, format)));
  }
});

const written = (write: (out: TextBuffer) => void): string => {
  const out = new TextBuffer(0);
  write(out);
  return String(out.from(0));
};

test('numbers are written as JavaScript writes them', () => {
  fc.assert(
    fc.property(fc.oneof(fc.nat(), fc.maxSafeInteger(), fc.double({ noNaN: true, noDefaultInfinity: true })), value => {
      expect(written(out => out.addNumber(value))).toBe(String(value));
    }),
  );
  const special = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN].map(n =>
    written(out => out.addNumber(n)),
  );
  expect(special).toEqual(['+Inf', '-Inf', 'NaN']);
});

test('durations, times and ids are written as numbers of seconds and as job ids', () => {
  const us = fc.oneof(
    fc.nat(),
    fc.nat({ max: 1e14 }),
    fc.nat({ max: 1e8 }).map(seconds => seconds * 1e6),
    fc.double({ min: 0, max: 1e12, noNaN: true }),
  );
  fc.assert(
    fc.property(us, value => {
      expect(Number(written(out => out.addSeconds(value)))).toBe(value / 1e6);
    }),
  );
  fc.assert(
    fc.property(fc.nat({ max: 4e12 }), ms => {
      expect(written(out => out.addTime(ms * 1000 + 499))).toBe((ms / 1000).toFixed(3));
    }),
  );
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), id => {
      expect(written(out => out.addId(id))).toBe(formatId(id));
    }),
  );
});

describe('a caller gets OpenMetrics if it accepts it at least as gladly as text', () => {
  test.each([
    [undefined, 'prometheus'],
    ['*/*', 'prometheus'],
    ['application/json', 'prometheus'],
    ['application/openmetrics-text', 'openmetrics'],
    ['application/openmetrics-text; version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75', 'openmetrics'],
    ['application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1', 'openmetrics'],
    ['application/openmetrics-text;q=0.1,text/plain', 'prometheus'],
    ['application/openmetrics-text;version=0.0.1', 'prometheus'],
    ['application/openmetrics-text;q=0', 'prometheus'],
    ['application/openmetrics-text;q=nonsense', 'prometheus'],
    [',;,q=;', 'prometheus'],
  ])('%s: %s', (accept, format) => {
    expect(formatFor(accept)).toBe(format);
  });
});

test('a value that equals a limit is in the bucket of this limit; behind the last limit is one more bucket', () => {
  expect(secondsLimits.map(limit => bucketWith(secondsLimits, limit))).toEqual([...secondsLimits.keys()]);
  expect(bucketWith(secondsLimits, 0)).toBe(0);
  expect(bucketWith(secondsLimits, 601)).toBe(secondsLimits.length);
});

describe('the room for series', () => {
  const gauge = (values: readonly (readonly [string, number])[], joined: 'sum' | 'max' = 'sum'): MetricFamily => ({
    name: 'g',
    type: 'gauge',
    help: 'G.',
    named: ['name'],
    joined,
    samples: values.map(([name, value]) => ({ labels: { name }, value })),
  });
  const limited = (room: SeriesRoom, family: MetricFamily, seriesMax: number): MetricFamily => {
    const work = room.limit(family, seriesMax);
    let step = work.next();
    while (!step.done) step = work.next();
    return step.value;
  };
  const shown = ({ samples }: MetricFamily) => samples.map(({ labels, value }) => [labels['name'], value]);

  test('the first names keep their series, whatever comes before them later', () => {
    const room = new SeriesRoom();
    expect(
      shown(
        limited(
          room,
          gauge([
            ['a', 1],
            ['b', 2],
            ['c', 4],
            ['d', 8],
          ]),
          2,
        ),
      ),
    ).toEqual([
      ['a', 1],
      ['b', 2],
      ['other', 12],
    ]);
    expect(
      shown(
        limited(
          room,
          gauge([
            ['d', 8],
            ['c', 4],
            ['b', 2],
            ['a', 1],
          ]),
          2,
        ),
      ),
    ).toEqual([
      ['b', 2],
      ['a', 1],
      ['other', 12],
    ]);
  });

  test('other work can continue after each sample', () => {
    const names = Array.from({ length: 10 }, (_, n) => [`n${n}`, 1] as const);
    const work = new SeriesRoom().limit(gauge(names), 5);
    for (const _ of names) expect(work.next().done).toBe(false);
    expect(work.next().done).toBe(true);
  });

  test('ages are not added: the oldest counts', () => {
    expect(
      shown(
        limited(
          new SeriesRoom(),
          gauge(
            [
              ['a', 1],
              ['b', 9],
              ['c', 4],
            ],
            'max',
          ),
          1,
        ),
      ),
    ).toEqual([
      ['a', 1],
      ['other', 9],
    ]);
  });

  test('something that is itself named other shares the series', () => {
    expect(
      shown(
        limited(
          new SeriesRoom(),
          gauge([
            ['other', 1],
            ['a', 2],
            ['b', 4],
          ]),
          1,
        ),
      ),
    ).toEqual([
      ['a', 2],
      ['other', 5],
    ]);
  });

  test('a shared counter never falls, whatever happens to its samples', () => {
    const room = new SeriesRoom();
    const counter = (values: { readonly [name: string]: number }, seriesMax = 1) => {
      const samples = Object.entries(values).map(([name, value]) => ({ labels: { name }, value }));
      const family: MetricFamily = { name: 'c', type: 'counter', help: 'C.', named: ['name'], samples };
      return shown(limited(room, family, seriesMax)).map(([name, value]) => `${name} ${value}`);
    };
    expect(counter({ a: 1, b: 5, c: 2 })).toEqual(['a 1', 'other 7']);
    expect(counter({ a: 1, c: 3 })).toEqual(['a 1', 'other 7']);
    expect(counter({ a: 1, c: 4 })).toEqual(['a 1', 'other 8']);
    expect(counter({ a: 1 })).toEqual(['a 1', 'other 8']);
    expect(counter({ a: 1, d: 1, e: 1 })).toEqual(['a 1', 'other 10']);
    expect(counter({ a: 1, d: 3, e: 2 }, 2)).toEqual(['a 1', 'd 3', 'other 10']);
  });

  test('a histogram takes as many series as it has lines, and histograms are added bucket by bucket', () => {
    const value = { limits: [1], sum: 3, counts: [1, 2] };
    const samples = ['a', 'b', 'c'].map(name => ({ labels: { name }, value }));
    const family: MetricFamily = { name: 'h', type: 'histogram', help: 'H.', named: ['name'], samples };
    const joined = limited(new SeriesRoom(), family, 7);
    expect(joined.samples.map(({ labels }) => labels['name'])).toEqual(['a', 'other']);
    expect(joined.samples[1]!.value).toMatchObject({ sum: 6, counts: [2, 4] });
  });

  test('a shared histogram never falls, whatever happens to its samples', () => {
    const room = new SeriesRoom();
    const histogram = (values: { readonly [name: string]: readonly [number, number] }, seriesMax = 4) => {
      const samples = Object.entries(values).map(([name, counts]) => ({
        labels: { name },
        value: { limits: [1], sum: counts[0] + 2 * counts[1], counts },
      }));
      const family: MetricFamily = { name: 'h', type: 'histogram', help: 'H.', named: ['name'], samples };
      return shown(limited(room, family, seriesMax)).map(([name, value]) => {
        const { sum, counts } = value as { readonly sum: number; readonly counts: readonly number[] };
        return `${name} ${counts.join()} ${sum}`;
      });
    };
    expect(histogram({ a: [1, 0], b: [2, 1], c: [0, 4] })).toEqual(['a 1,0 1', 'other 2,5 12']);
    expect(histogram({ a: [1, 0], b: [2, 1], c: [0, 5] }, 8)).toEqual(['a 1,0 1', 'b 2,1 4', 'other 2,5 12']);
    expect(histogram({ a: [1, 0], b: [2, 1], c: [0, 6] }, 8)).toEqual(['a 1,0 1', 'b 2,1 4', 'other 2,6 14']);
    expect(histogram({ a: [1, 0], b: [2, 1] }, 8)).toEqual(['a 1,0 1', 'b 2,1 4', 'other 2,6 14']);
  });

  test('families without names are never limited', () => {
    const family: MetricFamily = {
      name: 'up',
      type: 'gauge',
      help: 'Up.',
      samples: [{ labels: { part: 'a' }, value: 1 }],
    };
    expect(limited(new SeriesRoom(), family, 0)).toBe(family);
  });
});
