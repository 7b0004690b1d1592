// The log of `headgate start` on stderr. One sink writes all its lines in the current format. After `captureAll`, Node's warnings are lines
// of the log, too. In the JSON format, all other text that is written to `process.stderr` also becomes lines of the log.
import type { Config } from '../../config/config.ts';
import { captureStderr, type LogFormat, type Logger, LogSink, openLog } from '../../runtime/log.ts';
import { exitStatus } from '../exit-status.ts';
import { CommandFailure, report } from '../failure.ts';
import type { Output } from '../output.ts';
import { logLine } from '../terminal/log-line.ts';

export type StartLog = {
  readonly sink: LogSink;
  /** Returns the current logger. */
  readonly log: () => Logger;
  /**
   * Makes the logger of this configuration the current one. Returns the logger, and a function that applies the log settings of a
   * later configuration.
   */
  begin(config: Config): { readonly log: Logger; readonly applyLog: (config: Config) => void };
};

/** `forced` overrides the format that the configuration or the terminal would set. */
export function openStartLog(forced: LogFormat | null = null): StartLog {
  const byTerminal = process.stderr.isTTY ? 'text' : 'json';
  const sink = new LogSink(forced ?? byTerminal, logLine);
  let name = 'headgate';
  const apply = (config: Config, log: Logger): void => {
    name = config.service.name;
    sink.format = forced ?? config.log.format ?? byTerminal;
    log.level = config.service.logLevel;
  };
  let current = openLog('info', () => name, sink);
  return {
    sink,
    log: () => current,
    begin(config) {
      const log = openLog(config.service.logLevel, () => name, sink);
      apply(config, log);
      current = log;
      return { log, applyLog: next => apply(next, log) };
    },
  };
}

export function captureAll({ log, sink }: StartLog): void {
  captureStderr(log, sink);
}

/**
 * Reports why the service does not run, and resolves with the exit status. In the text format, an error that is not a `CommandFailure` is
 * thrown again.
 */
export async function refuse(error: unknown, startLog: StartLog, out: Output): Promise<number> {
  if (startLog.sink.format === 'text') {
    if (error instanceof CommandFailure) return report(error, out);
    throw error;
  }
  const log = startLog.log();
  // The reason is logged whatever level is configured.
  log.level = 'info';
  if (!(error instanceof CommandFailure)) {
    log.fatal({ err: error }, 'internal error');
    return exitStatus.defect;
  }
  const { problem, exitStatus: status } = error;
  const { code, detail, errors = [] } = problem;
  log.fatal({ code, status }, detail);
  for (const { message } of errors) if (!detail.includes(message)) log.fatal({ code }, message);
  if (out.json) await out.item(problem, () => '');
  return status;
}
