// Reads the journal of the crash test's plugins, and tells what must not have happened.

/** `kill` and `seen` are written by the test: the service is gone; the job's end was read from the service. */
export type Line = {
  readonly job: string;
  readonly attempt: number;
  readonly run: string;
  readonly what: 'start' | 'breath' | 'end' | 'seen' | 'kill';
};

export function readLines(text: string): Line[] {
  const lines = text.split('\n').slice(0, -1);
  return lines.map(line => JSON.parse(line) as Line);
}

/** Jobs that ran while another run of theirs went on, ran again without reason, or after their end was seen. */
export function wrongs(lines: readonly Line[]): string[] {
  const found: string[] = [];
  const latest = new Map<string, { run: string; attempt: number; isOver: boolean; life: number }>();
  const seen = new Set<string>();
  let life = 0;
  for (const { job, attempt, run, what } of lines) {
    const known = latest.get(job);
    if (what === 'kill') life++;
    else if (what === 'seen') seen.add(job);
    else if (what === 'start') {
      if (seen.has(job)) found.push(`${job} ran again after its end had been read`);
      const isRetry = known?.isOver === true && attempt > known.attempt;
      if (known && known.life === life && !isRetry) found.push(`${job} ran twice in one life of the service`);
      latest.set(job, { run, attempt, isOver: false, life });
    } else if (known?.run !== run) found.push(`${job}: an older run still went on beside a newer one`);
    else if (what === 'end') known.isOver = true;
  }
  return found;
}
