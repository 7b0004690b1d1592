// The configurations of the examples load without warnings, and their JavaScript passes the check of its JSDoc types.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../../config/load.ts';
import { projectRoot } from './fixture.ts';

const load = (example: string) => loadConfig({ path: `examples/${example}`, env: {}, cwd: projectRoot, processors: 2 });

describe('the examples', () => {
  it.each([
    [
      'dependency-report',
      ['finder', 'inspector', 'reporter'],
      ['worker', 'worker', 'worker'],
      ['find', 'inspect', 'report'],
    ],
    ['two-runtimes', ['counter', 'digest', 'splitter'], ['process', 'process', 'worker'], ['split', 'count', 'digest']],
  ])('load: %s', (example, plugins, runtimes, steps) => {
    const loaded = load(example);
    if (!loaded.ok) throw new Error(loaded.problems.join('\n'));
    const { config } = loaded;
    expect(config.warnings).toEqual([]);
    expect(Object.keys(config.plugins)).toEqual(plugins);
    expect(Object.values(config.plugins).map(({ manifest }) => manifest.runtime)).toEqual(runtimes);
    expect(config.api.tokens).toEqual([]);
    const [pipeline] = config.pipelines;
    expect(pipeline?.steps.map(({ id }) => id)).toEqual(steps);
    expect(pipeline).toMatchObject({ executionMode: 'synchronous', timeoutMs: 60_000 });
  });

  it('keep to their types', () => {
    const tsc = join(projectRoot, 'node_modules/.bin/tsc');
    const { stdout, status } = spawnSync(tsc, ['-p', 'examples'], { cwd: projectRoot, encoding: 'utf8' });
    expect({ stdout, status }).toEqual({ stdout: '', status: 0 });
  });
});
