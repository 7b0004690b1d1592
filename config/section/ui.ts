// Reads the `ui` section.
import type { ReportAt } from '../check/problem.ts';
import type { Config } from '../config.ts';
import { flagOf, type SourceNode, textOf } from '../source/tree.ts';

export const uiPathDefault = '/ui';
export const uiPathPattern = '^(/[a-z0-9][a-z0-9._-]*)+$';

/** The first parts of the API's paths. The path of the dashboard cannot begin with one of them, except the default path. A test checks this list. */
export const apiPathStarts: readonly string[] = [
  ...[
    '.well-known',
    'action',
    'actions',
    'analytics',
    'config',
    'control',
    'counts',
    'events',
    'failures',
    'healthz',
    'job',
  ],
  ...['job-logs', 'jobs', 'metrics', 'openapi-control.json', 'openapi-pipelines.json', 'openapi.json', 'overview'],
  ...[
    'pauses',
    'pipeline',
    'plugin',
    'plugins',
    'schedule',
    'scheduler',
    'schedules',
    'skills',
    'stopwatch',
    'system',
    'topology',
  ],
  ...['ui', 'vault', 'whoami'],
];

export function readUi(root: SourceNode, reportAt: ReportAt): Config['ui'] {
  const path = textOf(root, 'ui', 'path') ?? uiPathDefault;
  const start = path.split('/')[1]!;
  if (path !== uiPathDefault && new RegExp(uiPathPattern).test(path) && apiPathStarts.includes(start))
    reportAt(
      ['ui', 'path'],
      `is ${path}, but the API has routes below /${start}; choose another path, such as /dashboard`,
    );
  return { enabled: flagOf(root, 'ui', 'enabled') ?? true, path };
}
