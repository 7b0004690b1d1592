// The command `headgate config lock`, which seals the configuration and the plugins as they are on disk now.
import { countText } from '../../runtime/text.ts';
import { command, configOption } from '../command.ts';
import { exitStatus } from '../exit-status.ts';
import { failure } from '../failure.ts';

export const configLock = command<{ config?: string }>({
  usage: 'config lock',
  description: 'seal the configuration and the plugins as they are on disk now',
  examples: ['headgate config lock --config /etc/headgate'],
  options: [configOption()],
  statuses: '0 locked, 74 the lock cannot be written, 78 the configuration is invalid, and nothing was locked',
  async run({ options, io, out }) {
    const { lockConfiguration } = await import('../../config/seal/sealing.ts');
    const locked = lock(() => lockConfiguration({ path: options.config, env: io.env, cwd: io.cwd }));
    if (!locked.ok) {
      out.note(...locked.problems);
      await out.answer({ ok: false, problems: locked.problems }, () => []);
      return exitStatus.config;
    }
    const { file, keyFile, isNewKey, warnings } = locked;
    const { number, strict, files } = locked.lock;
    out.note(...warnings.map(line => `warning: ${line}`));
    if (isNewKey) out.note(`created the seal key ${keyFile}; only the service needs it`);
    const document = { ok: true, lock: file, number, strict, files: files.length, key_file: keyFile, warnings };
    await out.answer(document, () => [
      `${file}: lock ${number}, ${strict ? 'strict, ' : ''}${countText(files.length, 'file')}`,
    ]);
    return exitStatus.ok;
  },
});

function lock<T>(attempt: () => T): T {
  try {
    return attempt();
  } catch (error) {
    throw failure(exitStatus.io, 'not_written', 'Not locked', `nothing was locked: ${(error as Error).message}`, error);
  }
}
