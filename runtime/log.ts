// The log: structured lines on stderr. The only file that knows pino.
import { type Logger, pino } from 'pino';

export type { Logger };

/** One JSON object a line on stderr; stdout belongs to results. */
export function openLog(level: string, name: string): Logger {
  return pino(
    { level, name, base: { name }, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ dest: 2, sync: true }),
  );
}
