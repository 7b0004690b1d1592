// `headgate config check`: everything that is wrong, without starting anything.
import { command, configOption } from '../command.ts';
import { exitStatus } from '../exit-status.ts';

export const configCheck = command<{ config?: string }>({
  usage: 'config check',
  description: 'report everything that is wrong',
  examples: ['headgate config check --config ./config.yaml'],
  options: [configOption()],
  statuses: '0 clean, 1 warnings only, 78 errors',
  async run({ options, io, out }) {
    const { loadConfig, sealWarnings } = await import('../../config/load.ts');
    const loaded = loadConfig({ path: options.config, env: io.env, cwd: io.cwd });
    const problems = loaded.ok ? [] : loaded.problems;
    const warnings = [...(loaded.ok ? loaded.config.warnings : loaded.warnings), ...sealWarnings(loaded.seal)];
    for (const line of problems) out.note(line);
    for (const line of warnings) out.note(`warning: ${line}`);
    if (!loaded.ok) {
      await out.answer({ ok: false, problems, warnings }, () => []);
      return exitStatus.config;
    }
    const { mainFile, files } = loaded.config;
    await out.answer({ ok: true, main_file: mainFile, files, problems, warnings }, () => [
      `${mainFile}: ok, ${files.length} ${files.length === 1 ? 'file' : 'files'}`,
    ]);
    return warnings.length > 0 ? exitStatus.failed : exitStatus.ok;
  },
});
