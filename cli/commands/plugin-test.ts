// The command `headgate plugin test`, which tests a plugin against the protocol in a host like the service's, without a gateway.
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Option } from 'commander';
import { isObject } from '../../runtime/json-value.ts';
import type { JsonObject } from '../../runtime/packing.ts';
import { command } from '../command.ts';
import { exitStatus } from '../exit-status.ts';
import { usageFailure } from '../failure.ts';
import type { Io } from '../io.ts';
import { readJsonOption } from '../payload.ts';
import type { CheckFinding } from '../plugin-test/checks.ts';
import { countUpTo } from '../quantity.ts';
import type { TerminalLine } from '../terminal/text.ts';

type Options = {
  readonly command?: string;
  readonly payload?: string;
  readonly pluginConfig: string;
  readonly deadlineMs: number;
};

export const pluginTest = command<Options>({
  usage: 'plugin test <directory>',
  description: 'test the plugin in a directory against the protocol, without a gateway; its commands really run',
  examples: [
    'headgate plugin test plugins/greet',
    'headgate plugin test plugins/greet --payload @ada.json',
    `headgate plugin test plugins/greet --command handle --payload '{"name":"Ada"}' --plugin-config '{"greeting":"hi"}'`,
  ],
  options: [
    new Option('--command <name>', 'test only this command'),
    new Option(
      '--payload <json>',
      'the payload of valid requests; @FILE reads it from a file, - from stdin (default: payloads/COMMAND.json beside the manifest, else one generated from the input_schema)',
    ),
    new Option('--plugin-config <json>', 'the config that the plugin gets; @FILE reads it from a file').default('{}'),
    new Option('--deadline-ms <count>', 'how many milliseconds an answer may take')
      .argParser(countUpTo(3_600_000))
      .default(10_000),
  ],
  statuses: '0 all checks passed, 1 a check failed',
  async run({ options, args, io, out }) {
    const directory = resolve(io.cwd, args[0]!);
    const [{ readPlugin }, { PluginHarness }, { runChecks }] = await Promise.all([
      import('../plugin-test/reading.ts'),
      import('../plugin-test/harness.ts'),
      import('../plugin-test/checks.ts'),
    ]);
    const payload = options.payload === undefined ? undefined : await readObject('--payload', options.payload, io);
    const config = await readObject('--plugin-config', options.pluginConfig, io);
    const read = readPlugin(join(directory, 'manifest.yaml'), config);
    if (!read.ok) {
      out.note(...read.problems);
      await out.answer({ ok: false, problems: read.problems, checks: [] }, () => []);
      return exitStatus.failed;
    }
    const { plugin, bare } = read;
    const all = Object.keys(plugin.commands);
    if (options.command !== undefined && !all.includes(options.command))
      throw usageFailure(
        `${plugin.plugin} has no command ${JSON.stringify(options.command)}; it has ${all.join(', ')}`,
      );
    const commands = options.command === undefined ? all : [options.command];
    const payloads = Object.fromEntries(
      await Promise.all(
        commands.map(async name => [name, payload ?? (await storedPayload(directory, name, io))] as const),
      ),
    );
    const harness = new PluginHarness([plugin, bare]);
    const checks: CheckFinding[] = [];
    try {
      const plan = { plugin, bare, commands, payloads, deadlineMs: options.deadlineMs };
      for await (const finding of runChecks(harness, plan)) {
        checks.push(finding);
        out.progress(`${finding.command} ${finding.check}`);
      }
    } finally {
      out.progress('');
      await harness.close();
    }
    const ok = checks.every(({ passed }) => passed);
    await out.answer({ ok, plugin: plugin.plugin, runtime: plugin.runtime, checks }, () => checks.map(lineOf));
    return ok ? exitStatus.ok : exitStatus.failed;
  },
});

function lineOf({ command: name, check, passed, detail }: CheckFinding): TerminalLine {
  const mark = passed ? ({ text: 'ok    ', style: 'green' } as const) : ({ text: 'FAILED', style: 'red' } as const);
  return [mark, ` ${name === '' ? '' : `${name}: `}${check}: ${detail}`];
}

/** The payload in `payloads/COMMAND.json` beside the manifest; undefined if there is no such file. */
async function storedPayload(directory: string, name: string, io: Io): Promise<JsonObject | undefined> {
  const file = join(directory, 'payloads', `${name}.json`);
  return existsSync(file) ? readObject(file, `@${file}`, io) : undefined;
}

async function readObject(option: string, text: string, io: Io): Promise<JsonObject> {
  const { value } = await readJsonOption(option, text, io);
  if (isObject(value)) return value as JsonObject;
  throw usageFailure(`${option} is ${JSON.stringify(value)?.slice(0, 80)}, which is not a JSON object`);
}
