// The states of a job as a drawing: the states up to its end, and the five possible ends.
import type { JSX } from 'preact';
import { duration } from '../../core/format.ts';
import { Status, statusText, Time } from '../../parts/index.ts';
import { microsOf } from '../run/timeline.ts';
import type { ShownJob } from './shown-job.ts';
import { type JobState, statesOf } from './states.ts';

export function StateDiagram({ job }: { job: ShownJob }): JSX.Element {
  const { way, ends } = statesOf(job);
  return (
    <section class="states" aria-label="States of the job">
      <ol class="states-way">
        {way.map(state => (
          <StateBox key={state.name} state={state} from={job.created_at} />
        ))}
      </ol>
      <ul class="states-ends">
        {ends.map(state => (
          <StateBox key={state.name} state={state} from={job.created_at} />
        ))}
      </ul>
    </section>
  );
}

const spoken: { readonly [I in JobState['is']]: string } = {
  done: 'passed',
  now: 'the present state',
  ahead: 'ahead',
  other: 'not reached',
};

function StateBox({ state: { name, is, at, note }, from }: { state: JobState; from: string }) {
  return (
    <li class={`state state-${is}`} aria-current={is === 'now' ? 'step' : undefined}>
      <span class="state-name">{is === 'now' ? <Status status={name} /> : statusText(name)}</span>
      <span class="offscreen">, {spoken[is]}</span>
      {at !== null && (is === 'now' || is === 'done') && (
        <span class="state-at">
          {at === from ? <Time at={at} /> : `after ${duration(microsOf(at) - microsOf(from))}`}
        </span>
      )}
      {note !== '' && (is === 'now' || is === 'done') && <span class="state-note">{note}</span>}
    </li>
  );
}
