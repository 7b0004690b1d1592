// The log: structured lines on stderr. The only file that knows pino.
import { type Logger, pino } from 'pino';
import { withSourceNames } from './source-names.ts';

export type { Logger };

function err(error: Error): object {
  const { stack, ...more } = pino.stdSerializers.err(error);
  return { ...more, stack: withSourceNames(stack) };
}

/** One JSON object a line on stderr; stdout belongs to results. */
export function openLog(level: string, name: string): Logger {
  return pino(
    { level, name, base: { name }, timestamp: pino.stdTimeFunctions.isoTime, serializers: { err } },
    pino.destination({ dest: 2, sync: true }),
  );
}
