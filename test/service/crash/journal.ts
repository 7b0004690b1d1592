// Reads the journal of the crash test's plugins, and tells what must not have happened.

/** The test itself writes `service` (a service is up), `hosts` (the hosts were killed) and `seen` (the end of the job was read). */
export type Line = {
  readonly job: string;
  readonly attempt: number;
  /** The process of the service that the plugin host belongs to; 0 or another number where the plugin cannot know it. */
  readonly service: number;
  /** A name that is different for each run. */
  readonly run: string;
  readonly what: 'start' | 'breath' | 'end' | 'seen' | 'service' | 'hosts';
};

export function readLines(text: string): Line[] {
  const lines = text.split('\n').slice(0, -1);
  return lines.map(line => JSON.parse(line) as Line);
}

/** The jobs that ran twice at the same time, ran again without a reason, or ran after their end was seen. */
export function wrongs(lines: readonly Line[]): string[] {
  const found: string[] = [];
  const services = new Set(lines.filter(({ what }) => what === 'service').map(({ service }) => service));
  const seen = new Set<string>();
  /** The newest run of each job, with its last line. */
  const latest = new Map<string, Line>();
  /** Jobs that had begun when hosts were killed: they may run again in the same life of the service. */
  const shaken = new Set<string>();
  for (const line of lines) {
    const { job, what } = line;
    if (what === 'service') continue;
    if (what === 'hosts') {
      for (const begun of latest.keys()) shaken.add(begun);
      continue;
    }
    if (what === 'seen') {
      seen.add(job);
      continue;
    }
    const known = latest.get(job);
    if (what === 'start') {
      if (seen.has(job)) found.push(`${job} ran again after its end had been read`);
      const isSameLife = known?.service === line.service && services.has(line.service);
      const isRetry = known?.what === 'end' && line.attempt > known.attempt;
      if (isSameLife && !isRetry && !shaken.has(job)) found.push(`${job} ran twice in one life of the service`);
    } else if (known?.run !== line.run) {
      found.push(`${job}: an older run still went on beside a newer one`);
      continue;
    }
    if (what === 'start') shaken.delete(job);
    latest.set(job, line);
  }
  return found;
}
