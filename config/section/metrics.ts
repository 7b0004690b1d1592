// Reads the `metrics` section.
import { isLoopback } from '../address.ts';
import type { ReportAt } from '../check/problem.ts';
import type { Config } from '../config.ts';
import { numberOf, type SourceNode } from '../source/tree.ts';
import { readListen } from './listen.ts';

const seriesDefault = 5_000;

export function readMetrics(root: SourceNode, reportAt: ReportAt): Config['metrics'] {
  const path = ['metrics', 'listen'];
  const listen = readListen(root, path, reportAt) ?? null;
  if (listen !== null && !isLoopback(listen.host)) {
    const remedy =
      'it must be at an address that only this machine can reach, such as 127.0.0.1:9464, because callers need no token there; ' +
      'other machines call /metrics of the API with a token that has the scope metrics:ro';
    reportAt(path, `is at ${listen.host}; ${remedy}`);
  }
  return { listen, seriesMax: numberOf(root, 'metrics', 'series_max') ?? seriesDefault };
}
