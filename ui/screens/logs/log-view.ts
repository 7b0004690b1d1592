// A log of GET /job-logs, and what its row in the list says.
import { excerptOf, patternOf } from './excerpt.ts';

export type LogView = {
  readonly job_id: string;
  readonly log_id: string;
  readonly plugin: string;
  readonly command: string;
  readonly status: string;
  readonly attempt: number;
  readonly submitted_by: string;
  readonly created_at: string;
  readonly completed_at: string;
  readonly last_error?: string;
  readonly stderr?: string;
};

/** The time from acceptance to the end of the attempt. */
export function logUs({ created_at, completed_at }: LogView): number {
  return (Date.parse(completed_at) - Date.parse(created_at)) * 1_000;
}

/** One line of the error or the error output, preferably of the one that contains the words; null if the log has neither. */
export function logLine({ last_error: error, stderr }: LogView, words: string): string | null {
  const texts = [error, stderr].filter((text): text is string => text !== undefined && text !== '');
  const pattern = patternOf(words);
  const text = texts.find(one => pattern !== null && one.search(pattern) >= 0) ?? texts[0];
  return text === undefined ? null : excerptOf(text, words);
}
