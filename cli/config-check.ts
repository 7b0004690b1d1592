// `headgate config check`: everything that is wrong, without starting anything.
import { loadConfig } from '../config/load.ts';
import { exitConfig } from './start.ts';

/** The exit status: 0 clean, 1 warnings only, 78 errors. */
export function checkConfiguration(path: string | undefined): number {
  const loaded = loadConfig({ path, env: process.env, cwd: process.cwd() });
  const warnings = loaded.ok ? loaded.config.warnings : loaded.warnings;
  for (const line of loaded.ok ? [] : loaded.problems) process.stderr.write(`${line}\n`);
  for (const line of warnings) process.stderr.write(`warning: ${line}\n`);
  if (!loaded.ok) return exitConfig;
  process.stdout.write(`${loaded.config.mainFile}: ok, ${loaded.config.files.length} files\n`);
  return warnings.length > 0 ? 1 : 0;
}
