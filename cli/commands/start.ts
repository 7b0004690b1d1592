// The command `headgate start`, which runs the service itself.
import { Option } from 'commander';
import { takeVaultKey } from '../../runtime/host/client/environment.ts';
import { discardThreads, prepareThreads } from '../../service/threads.ts';
import { command, configOption } from '../command.ts';
import { parseMs } from '../quantity.ts';

export const startCommand = command<{ config?: string; grace: number; backup: boolean }>({
  usage: 'start',
  description:
    'run the service until SIGTERM or SIGINT; SIGHUP reloads the configuration. The log goes to stderr, as text on a terminal, else as JSON',
  examples: ['headgate start --config examples/dependency-report'],
  options: [
    configOption(),
    new Option('--grace <duration>', 'how long running jobs may take to finish after a stop signal')
      .argParser(parseMs)
      .default(30_000, '30s'),
    new Option('--no-backup', 'write no backup before the state gets a newer format'),
  ],
  statuses:
    '0 stopped on request, 70 an internal error, 74 a disk error, 75 another process holds the state or a listening address, 78 an invalid configuration',
  async run({ options: { config: path, grace: graceMs, backup: backsUp }, out }) {
    // Without a listener, a SIGHUP would end the process. `start` adds its own listener after it has read the configuration.
    process.on('SIGHUP', () => {});
    // Takes the vault's unlock key out of the environment before threads start, because each thread gets a copy of the environment.
    const vaultKey = takeVaultKey(process.env);
    prepareThreads();
    const [{ start }, { hints }, { captureAll, openStartLog, refuse }] = await Promise.all([
      import('../start/start.ts'),
      import('../start/hints.ts'),
      import('../start/start-log.ts'),
    ]);
    const startLog = openStartLog(out.json ? 'json' : null);
    captureAll(startLog);
    const started = await start({ path, graceMs, vaultKey, startLog, backsUp }).catch(async (error: unknown) => {
      const status = await refuse(error, startLog, out);
      await discardThreads();
      // Ends the process at once, because running threads would keep it alive.
      return process.exit(status);
    });
    const { url, local } = started;
    if (out.json) await out.answer({ url, token_file: local?.file ?? null }, () => []);
    else if (startLog.sink.format === 'text') out.note(...hints(started));
    return process.exit(await started.ended);
  },
});
