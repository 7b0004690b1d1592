// The critical path of a run: where its time went, and the jobs on the path one after another.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { count, duration, percent } from '../../core/format.ts';
import { Button, Empty, JobId, Section, Status } from '../../parts/index.ts';
import { kindMeanings, kindNames, type PathKind, sharesByKind, stretchesOf } from './shares.ts';
import { microsOf, type PathEntry, type RunTimeline, stepTitle } from './timeline.ts';

/** The time of the run as one bar, with its parts named. */
export function WhereTimeWent({ timeline }: { timeline: RunTimeline }): JSX.Element | null {
  const shares = sharesByKind(timeline);
  if (shares.length === 0) return null;
  const text = shares.map(({ kind, us, share }) => `${kindNames[kind]} ${duration(us)}, ${percent(share)}`);
  return (
    <figure class="where">
      <div class="where-bar" role="img" aria-label={`Where the time went. ${text.join('. ')}.`}>
        {shares.map(({ kind, share }) => (
          <span key={kind} class={`where-part kind-${kind}`} style={{ width: `${share * 100}%` }} />
        ))}
      </div>
      <figcaption>
        <ul class="where-names">
          {shares.map(({ kind, us, share }) => (
            <li key={kind} title={kindMeanings[kind]}>
              <span class={`where-key kind-${kind}`} aria-hidden="true" />
              {kindNames[kind]} <strong class="number">{duration(us)}</strong>{' '}
              <span class="muted number">{percent(share)}</span>
            </li>
          ))}
        </ul>
      </figcaption>
    </figure>
  );
}

/** Longer paths show their longest entries only, until the user asks for all. */
const shownMax = 50;

export function CriticalPathSection({ timeline }: { timeline: RunTimeline }): JSX.Element {
  const { critical_path: path, critical_path_cut: isCut, command } = timeline;
  const [isWhole, showWhole] = useState(false);
  const shown = isWhole || path.length <= shownMax ? path : longest(path);
  return (
    <Section
      title="Critical path"
      note={
        <span id="critical-path" tabIndex={-1}>
          the chain of jobs that leads to the job of the run that ended last
        </span>
      }
    >
      {path.length === 0 ? (
        <Empty title="No job has ended yet." />
      ) : (
        <>
          {isCut && <p class="muted">The beginning is missing: the path has more jobs than the service lists.</p>}
          <ol class="path-list" aria-label="Critical path">
            <li class="path-entry path-head" aria-hidden="true">
              <span>Step</span>
              <span>Last job</span>
              <span>When</span>
              <span>Handing out</span>
              <span>Waited</span>
              <span>Ran</span>
              <span>Between attempts</span>
            </li>
            {shown.map(entry => (
              <PathLine key={entry.job_id} entry={entry} timeline={timeline} title={stepTitle(entry, command)} />
            ))}
          </ol>
          {shown.length < path.length && (
            <Button onClick={() => showWhole(true)}>
              Show all {count(path.length)}; these are the {count(shownMax)} longest
            </Button>
          )}
        </>
      )}
    </Section>
  );
}

/** The longest entries, in the order of the path. */
function longest(path: readonly PathEntry[]): PathEntry[] {
  const lengthOf = ({ from, to }: PathEntry) => microsOf(to) - microsOf(from);
  const chosen = new Set([...path].sort((a, b) => lengthOf(b) - lengthOf(a)).slice(0, shownMax));
  return path.filter(entry => chosen.has(entry));
}

function PathLine({ entry, timeline, title }: { entry: PathEntry; timeline: RunTimeline; title: string }) {
  const { job_id: id, jobs, status, phase } = entry;
  const figures: readonly (readonly [PathKind, number])[] = [
    ['handing_out', entry.handing_out_us],
    ['waiting', entry.waiting_us],
    ['running', entry.running_us],
    ['retrying', entry.retrying_us],
  ];
  return (
    <li class="path-entry">
      <span class="path-step">
        {title} {phase && <span class="strip-phase">{phase}</span>}
        {jobs > 1 && <small>{count(jobs)} jobs</small>}
      </span>
      <span class="path-job">
        <JobId id={id} /> <Status status={status} />
      </span>
      <PathBar entry={entry} timeline={timeline} />
      {figures.map(([kind, us]) => (
        <span key={kind} class={us === 0 ? 'number path-us path-zero' : 'number path-us'} data-name={kindNames[kind]}>
          {us === 0 ? '–' : duration(us)}
        </span>
      ))}
    </li>
  );
}

/** Where the entry lies in the time of the run. */
function PathBar({ entry, timeline }: { entry: PathEntry; timeline: RunTimeline }) {
  const whole = Math.max(1, timeline.duration_us);
  const from = microsOf(entry.from) - microsOf(timeline.from);
  const of = (us: number) => `${(us / whole) * 100}%`;
  return (
    <span class="path-track" aria-hidden="true">
      <span class="path-bar" style={{ marginLeft: of(from), width: of(microsOf(entry.to) - microsOf(entry.from)) }}>
        {stretchesOf(entry).map(({ kind, us }) => (
          <span key={kind} class={`kind-${kind}`} style={{ flexGrow: String(us) }} />
        ))}
      </span>
    </span>
  );
}
