// One log in the list: how the attempt ended, and a line of its error or its error output.
import type { JSX } from 'preact';
import { duration } from '../../core/format.ts';
import { Button, JobId, Status, Time } from '../../parts/index.ts';
import { workOf } from '../../parts/work.ts';
import { Highlight } from './highlight.tsx';
import { type LogView, logLine, logUs } from './log-view.ts';

export function LogRow({ log, words, onOpen }: { log: LogView; words: string; onOpen: () => void }): JSX.Element {
  const { job_id: id, plugin, command, attempt, last_error: error } = log;
  const work = workOf(plugin, command);
  const line = logLine(log, words);
  return (
    <>
      <div class="log-head">
        <Status status={log.status} />
        <a class="log-what" href={work.href}>
          {work.text}
        </a>
        <span class="log-job">
          <JobId id={id} />
          {attempt > 1 && <span class="muted">attempt {attempt}</span>}
        </span>
        <span class="log-when muted">
          <span class="log-took" title="From acceptance to the end of the attempt">
            {duration(logUs(log))}
          </span>
          <Time at={log.completed_at} />
        </span>
        <Button kind="plain" onClick={onOpen} label={`Show attempt ${attempt} of the job ${id}`}>
          Show
        </Button>
      </div>
      <p class={`log-line ${error ? 'log-bad' : ''}`}>
        {line === null ? (
          <span class="muted">{words === '' ? 'no error' : 'found in its messages or its result'}</span>
        ) : (
          <Highlight text={line} words={words} />
        )}
      </p>
    </>
  );
}
