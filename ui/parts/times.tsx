// Two fields for a stretch of time, in the time zone of the browser.
import type { JSX } from 'preact';
import { clock, day } from '../core/format.ts';
import { Field } from './controls.tsx';

/** Two times in UTC, as the API takes them. */
export type Stretch = { readonly from: string; readonly to: string };

export function TimeFields(props: {
  from: string;
  to: string;
  onFrom: (value: string) => void;
  onTo: (value: string) => void;
  /** The first word of both labels, such as `Against`. Default: the labels are only `From` and `To`. */
  of?: string;
}): JSX.Element {
  const label = (end: string) => (props.of === undefined ? end : `${props.of} ${end.toLowerCase()}`);
  return (
    <div class="time-fields">
      <Field label={label('From')} type="datetime-local" value={props.from} onInput={props.onFrom} />
      <Field label={label('To')} type="datetime-local" value={props.to} onInput={props.onTo} />
    </div>
  );
}

/** The time as the value of a `datetime-local` field, in the browser's time zone: `2026-01-31T12:00`. */
export function fieldTime(date: Date): string {
  return `${day(date)}T${clock(date).slice(0, 5)}`;
}

/** The times of the fields; null: the first one does not lie before the second. */
export function stretchOf(from: string, to: string): Stretch | null {
  const [start, end] = [new Date(from), new Date(to)];
  if (Number.isNaN(start.getTime()) || Number.isNaN(end.getTime()) || start >= end) return null;
  return { from: start.toISOString(), to: end.toISOString() };
}
