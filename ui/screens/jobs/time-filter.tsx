// The filter by time of acceptance: a span up to now, and a slider in this span. The list shows jobs that were accepted before the slider's time.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { clock, day, exact, now } from '../../core/format.ts';
import { setQuery } from '../../core/router.ts';
import { Button, Select } from '../../parts/index.ts';
import type { JobFilters } from './filters.ts';

const minute = 60_000;
const spans = [
  { value: '', text: 'any time', ms: 0 },
  { value: '15m', text: 'the last 15 minutes', ms: 15 * minute },
  { value: '1h', text: 'the last hour', ms: 60 * minute },
  { value: '6h', text: 'the last 6 hours', ms: 360 * minute },
  { value: '1d', text: 'the last day', ms: 1_440 * minute },
  { value: '7d', text: 'the last 7 days', ms: 10_080 * minute },
  { value: '30d', text: 'the last 30 days', ms: 43_200 * minute },
] as const;
const steps = 1_000;

export function TimeFilter({ filters }: { filters: JobFilters }): JSX.Element {
  const { from, to } = filters;
  const [dragged, setDragged] = useState<number | null>(null);
  const startMs = from === undefined ? null : Date.parse(from);
  const endMs = now.value;
  const span = spanOf(startMs, endMs);
  const toMs = to === undefined ? null : Date.parse(to);
  const shownMs = dragged ?? toMs ?? endMs;
  const choose = (value: string) => {
    const { ms } = spans.find(one => one.value === value) ?? spans[0];
    setQuery({ from: ms === 0 ? undefined : new Date(Date.now() - ms).toISOString(), to: undefined });
  };
  const timeAt = (step: number) => startMs! + ((endMs - startMs!) * step) / steps;
  return (
    <div class={`time-filter ${startMs === null ? '' : 'time-filter-open'}`}>
      <Select
        label="Accepted"
        value={span}
        options={span === 'other' ? [...spans, { value: 'other', text: `since ${exact(new Date(startMs!))}` }] : spans}
        onChange={choose}
      />
      {startMs !== null && (
        <label class="scrubber">
          <span class="muted">
            Up to {toMs === null && dragged === null ? 'now' : `${day(new Date(shownMs))} ${clock(new Date(shownMs))}`}
          </span>
          <input
            type="range"
            min={0}
            max={steps}
            value={Math.round(
              (Math.min(Math.max(shownMs - startMs, 0), endMs - startMs) / Math.max(1, endMs - startMs)) * steps,
            )}
            aria-valuetext={exact(new Date(shownMs))}
            onInput={event => setDragged(timeAt(Number(event.currentTarget.value)))}
            onChange={event => {
              const step = Number(event.currentTarget.value);
              setDragged(null);
              setQuery({ to: step >= steps ? undefined : new Date(timeAt(step)).toISOString() });
            }}
          />
        </label>
      )}
      {toMs !== null && (
        <Button kind="plain" onClick={() => setQuery({ to: undefined })}>
          Up to now
        </Button>
      )}
    </div>
  );
}

/** The choice that fits a span between these times; `other` if none fits, because a URL may have any time. Empty: no start. */
function spanOf(startMs: number | null, endMs: number): string {
  if (startMs === null) return '';
  const length = endMs - startMs;
  // A span that was chosen grows while the page is open.
  return spans.find(({ ms }) => ms > 0 && length >= ms - minute && length < ms * 1.5)?.value ?? 'other';
}
