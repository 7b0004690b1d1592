// The command `headgate config check`, which reports every error and warning in the configuration.

import { Option } from 'commander';
import type { Config } from '../../config/config.ts';
import { countText } from '../../runtime/text.ts';
import type { AddressOptions } from '../client/address.ts';
import { addressOptions, connect } from '../client/connect.ts';
import { dryRunReload } from '../client/reload-dry-run.ts';
import { command } from '../command.ts';
import { exitStatus } from '../exit-status.ts';

type CheckOptions = AddressOptions & { readonly load?: true; readonly running?: true };

export const configCheck = command<CheckOptions>({
  usage: 'config check',
  description: 'report every error and warning in the configuration, without starting anything',
  examples: [
    'headgate config check --config ./config.yaml',
    'headgate config check --load',
    'headgate config check --running',
  ],
  options: [
    ...addressOptions(),
    new Option('--load', 'load the files of worker plugins too, as the service would; no command runs'),
    new Option('--running', 'let the running service check the files on its disk and report which jobs it would hold'),
  ],
  statuses: '0 clean, 1 warnings, or jobs that would be held, 78 errors',
  async run(call) {
    const { options, io, out } = call;
    if (options.running) return dryRunReload(await connect(call), out);
    const { loadConfig, sealWarnings } = await import('../../config/load.ts');
    const loaded = loadConfig({ path: options.config, env: io.env, cwd: io.cwd });
    const problems = loaded.ok ? await notLoaded(loaded.config, options) : loaded.problems;
    const warnings = [...(loaded.ok ? loaded.config.warnings : loaded.warnings), ...sealWarnings(loaded.seal)];
    out.note(...problems);
    out.note(...warnings.map(line => `warning: ${line}`));
    if (!loaded.ok || problems.length > 0) {
      await out.answer({ ok: false, problems, warnings }, () => []);
      return exitStatus.config;
    }
    const { mainFile, files } = loaded.config;
    await out.answer({ ok: true, main_file: mainFile, files, problems, warnings }, () => [
      `${mainFile}: ok, ${countText(files.length, 'file')}`,
    ]);
    return warnings.length > 0 ? exitStatus.failed : exitStatus.ok;
  },
});

async function notLoaded(config: Config, { load }: CheckOptions): Promise<readonly string[]> {
  if (!load) return [];
  const { loadProblems } = await import('../plugin-test/loading.ts');
  return loadProblems(config);
}
