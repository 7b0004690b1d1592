// The figures of all steps of a run as a table, for those who cannot use the drawing.
import type { JSX } from 'preact';
import { count, duration, percent } from '../../core/format.ts';
import type { StepShare } from './shares.ts';
import { failuresIn, microsOf, type RunTimeline, stepKey, stepTitle, unsettledIn } from './timeline.ts';

export function StepTable({ timeline, shares }: { timeline: RunTimeline; shares: readonly StepShare[] }): JSX.Element {
  const startUs = microsOf(timeline.from);
  const since = (time: string | null) => (time === null ? '–' : duration(microsOf(time) - startUs));
  return (
    <details class="step-table">
      <summary>All figures as a table</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a table that scrolls must be reachable by keyboard */}
      <section class="scrolls" tabIndex={0} aria-label="Figures of the steps">
        <table>
          <thead>
            <tr>
              <th scope="col">Step</th>
              {['Jobs', 'Failed', 'Cancelled', 'Open', 'Accepted from', 'to', 'Started', 'Ended'].map(name => (
                <th scope="col" key={name}>
                  {name}
                </th>
              ))}
              {['Queue', 'Run'].flatMap(name =>
                ['p50', 'p95', 'p99', 'max'].map(figure => (
                  <th scope="col" key={name + figure}>
                    {name} {figure}
                  </th>
                )),
              )}
              <th scope="col">Critical path</th>
            </tr>
          </thead>
          <tbody>
            {timeline.steps.map(step => {
              const share = shares.find(({ key }) => key === stepKey(step));
              return (
                <tr key={stepKey(step)}>
                  <th scope="row">
                    {stepTitle(step, timeline.command)} {step.phase && <span class="muted">{step.phase}</span>}
                  </th>
                  <td>{count(step.count)}</td>
                  <td>{count(failuresIn(step))}</td>
                  <td>{count(step.by_status['cancelled'] ?? 0)}</td>
                  <td>{count(unsettledIn(step))}</td>
                  <td>{since(step.first_created)}</td>
                  <td>{since(step.last_created)}</td>
                  <td>{since(step.first_start)}</td>
                  <td>{since(step.last_end)}</td>
                  {[step.queue_us, step.run_us].flatMap((of, n) =>
                    (['p50', 'p95', 'p99', 'max'] as const).map(name => <td key={name + n}>{duration(of[name])}</td>),
                  )}
                  <td>{share ? `${duration(share.us)} (${percent(share.share)})` : '–'}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </section>
    </details>
  );
}
