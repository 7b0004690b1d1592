// The commands and steps that a stopwatch measures, with their percentiles, or with the difference between two windows.
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { count, duration } from '../../core/format.ts';
import { Change } from '../compare/change.tsx';
import type { MeasuredFigures, MeasuredWindow } from './measured.ts';

export type StepListProps = {
  readonly window: MeasuredWindow;
  /** The other window of a comparison, which is shown first; undefined: nothing is compared. */
  readonly before: MeasuredWindow | undefined;
  readonly picked: string | null;
  readonly onPick: (step: string) => void;
};

const percentiles = ['p50', 'p95', 'p99'] as const;

export function StepList({ window, before, picked, onPick }: StepListProps): JSX.Element {
  const list = useRef<HTMLElement>(null);
  useEffect(() => {
    const row = list.current?.querySelector<HTMLElement>('.strip-picked');
    // Leaves room above the row for the heading, which stays in place when the list is scrolled.
    if (row) list.current!.scrollTop = row.offsetTop - 3 * row.offsetHeight;
  }, [window.plugin]);
  const old = new Map(before?.steps.map(step => [step.step, step]));
  // A step of the configuration that was not measured is listed too, below the others.
  const steps = [...window.steps].sort((a, b) => Number(b.sample_count > 0) - Number(a.sample_count > 0));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a table that scrolls must be reachable by keyboard
    <section class="scrolls step-scroll" ref={list} tabIndex={0} aria-label="Measured steps">
      <table class="differences step-list">
        <thead>
          <tr>
            {['Step', 'Samples', ...percentiles, 'max'].map(name => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {steps.map(figures => (
            <tr key={figures.step} class={figures.step === picked ? 'strip-picked' : ''}>
              <th scope="row">
                <button
                  type="button"
                  class="link"
                  aria-pressed={figures.step === picked}
                  onClick={() => onPick(figures.step)}
                >
                  {figures.step}
                </button>
              </th>
              <Figures figures={figures} old={before && (old.get(figures.step) ?? unmeasured)} />
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

const unmeasured: MeasuredFigures = { sample_count: 0, p50_us: 0, p95_us: 0, p99_us: 0, max_us: 0 };

function Figures({ figures, old }: { figures: MeasuredFigures; old: MeasuredFigures | undefined }) {
  const { sample_count: samples } = figures;
  if (!old)
    return (
      <>
        <td class="number">{count(samples)}</td>
        {[...percentiles, 'max' as const].map(name => (
          <td key={name} class="number">
            {samples === 0 ? <span class="muted">–</span> : duration(figures[`${name}_us`])}
          </td>
        ))}
      </>
    );
  return (
    <>
      <td class="number">
        {count(old.sample_count)} → {count(samples)}
      </td>
      {[...percentiles, 'max' as const].map(name => (
        <td key={name}>
          <Change
            figure={name}
            before={{ us: old[`${name}_us`], samples: old.sample_count }}
            after={{ us: figures[`${name}_us`], samples }}
          />
        </td>
      ))}
    </>
  );
}
