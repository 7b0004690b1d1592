// The command `headgate plugin new`, which creates a plugin from a template.
import { join, resolve } from 'node:path';
import { Option } from 'commander';
import { command } from '../command.ts';
import { usageFailure } from '../failure.ts';
import { runtimes, type ScaffoldRuntime } from '../scaffold/plugin.ts';

export const pluginNew = command<{ readonly runtime: ScaffoldRuntime; readonly into: string }>({
  usage: 'plugin new <name>',
  description: 'create a working plugin: a manifest, code, a payload to try it with, and a test that passes',
  examples: [
    'headgate plugin new resize',
    'headgate plugin new resize --runtime typescript',
    'headgate plugin new resize --runtime process --into my-gateway/plugins',
  ],
  options: [
    new Option(
      '--runtime <runtime>',
      'JavaScript or TypeScript on worker threads, or Python in processes that serve many jobs each',
    )
      .choices(runtimes)
      .default('worker'),
    new Option('--into <directory>', 'the directory in which to create it: one of plugin_roots').default('plugins'),
  ],
  async run({ options: { runtime, into }, args, io, out }) {
    const name = args[0]!;
    if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/.test(name))
      throw usageFailure('a plugin name consists of letters, digits, "_" and "-", and begins with a letter or digit');
    const [{ isReserved, reservedMessage }, { writeFiles }, { newPlugin }] = await Promise.all([
      import('../../config/plugin/manifest.ts'),
      import('../scaffold/files.ts'),
      import('../scaffold/plugin.ts'),
    ]);
    if (isReserved(name)) throw usageFailure(`the plugin name ${name} ${reservedMessage}`);
    const directory = join(resolve(io.cwd, into), name);
    const { files, test } = newPlugin(name, runtime);
    writeFiles(directory, files);
    await out.answer({ directory, files: files.map(({ path }) => path), test }, () => [directory]);
    out.note(
      `to test it, run in that directory: ${test}`,
      `if ${into} is one of plugin_roots, run "headgate reload", then:`,
      `  headgate plugin run ${name} handle --payload '{"name":"Ada"}'`,
    );
  },
});
