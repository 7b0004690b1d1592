// How `headgate start` speaks on stderr: one log from the first word to the last, so that no prose stands between lines of JSON.
import type { Config } from '../../config/config.ts';
import { captureStderr, type LogFormat, type Logger, LogSink, openLog } from '../../runtime/log.ts';
import { exitStatus } from '../exit-status.ts';
import { CommandFailure, report } from '../failure.ts';
import type { Output } from '../output.ts';
import { logLine } from '../terminal/log-line.ts';

export type StartLog = {
  readonly sink: LogSink;
  /** As far as it has begun. */
  readonly log: () => Logger;
  /** The log of this configuration, and how another one is given its settings. */
  begin(config: Config): { readonly log: Logger; readonly applyLog: (config: Config) => void };
};

/** `forced`: whatever the configuration says. */
export function openStartLog(forced: LogFormat | null = null): StartLog {
  const byTerminal = process.stderr.isTTY ? 'text' : 'json';
  const sink = new LogSink(forced ?? byTerminal, logLine);
  const apply = (config: Config, log: Logger): void => {
    sink.format = forced ?? config.log.format ?? byTerminal;
    log.level = config.service.logLevel;
  };
  let current = openLog('info', 'headgate', sink);
  return {
    sink,
    log: () => current,
    begin(config) {
      const log = openLog(config.service.logLevel, config.service.name, sink);
      apply(config, log);
      current = log;
      return { log, applyLog: next => apply(next, log) };
    },
  };
}

/** Node, and whatever the threads print, speaks by the log too. */
export function captureAll({ log, sink }: StartLog): void {
  captureStderr(log, sink);
}

/** Says why the service does not run; resolves with the exit status. */
export async function refuse(error: unknown, startLog: StartLog, out: Output): Promise<number> {
  if (startLog.sink.format === 'text') {
    if (error instanceof CommandFailure) return report(error, out);
    throw error;
  }
  const log = startLog.log();
  // Whatever level the configuration asks for: this is the end.
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
