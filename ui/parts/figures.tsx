// Numbers, and small drawings of numbers.
import type { ComponentChildren, JSX } from 'preact';
import { count } from '../core/format.ts';

/** A figure with its label. */
export function Stat(props: {
  label: string;
  value: ComponentChildren;
  note?: ComponentChildren;
  kind?: 'bad' | 'good';
  href?: string;
}): JSX.Element {
  const value = <span class={`stat-value ${props.kind ?? ''}`}>{props.value}</span>;
  return (
    <div class="stat">
      <span class="stat-label">{props.label}</span>
      {props.href ? <a href={props.href}>{value}</a> : value}
      {props.note && <span class="stat-note">{props.note}</span>}
    </div>
  );
}

/** A line of values, oldest first. `values2` is a second line of the same scale. */
export function Spark(props: {
  values: readonly number[];
  label: string;
  values2?: readonly number[];
  width?: number;
  height?: number;
}): JSX.Element {
  const { values, values2 = [], width = 160, height = 36 } = props;
  const max = Math.max(1, ...values, ...values2);
  const points = (of: readonly number[]) =>
    of.map((value, at) => {
      const x = of.length < 2 ? 0 : (at / (of.length - 1)) * width;
      return `${x.toFixed(1)},${(height - 1 - (value / max) * (height - 3)).toFixed(1)}`;
    });
  const line = points(values);
  return (
    <svg
      class="spark"
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={props.label}
    >
      <title>{`${props.label}; at most ${count(max)}`}</title>
      {line.length > 1 && <polygon points={`0,${height} ${line.join(' ')} ${width},${height}`} />}
      {line.length > 1 && <polyline points={line.join(' ')} />}
      {values2.length > 1 && <polyline class="second" points={points(values2).join(' ')} />}
    </svg>
  );
}

export type BarPart = { readonly name: string; readonly value: number; readonly color: string };

/** Parts of a whole, side by side. `color`: a variable such as `--status-failed`. */
export function Bar({
  parts,
  label,
  total,
}: {
  parts: readonly BarPart[];
  label: string;
  total?: number;
}): JSX.Element {
  const whole = total ?? parts.reduce((sum, { value }) => sum + value, 0);
  const text = parts.filter(({ value }) => value > 0).map(({ name, value }) => `${name} ${count(value)}`);
  return (
    <div class="bar" role="img" aria-label={`${label}: ${text.join(', ') || 'none'}`} title={text.join(', ')}>
      {parts.map(({ name, value, color }) =>
        value > 0 ? (
          <span key={name} style={{ width: `${(value / Math.max(1, whole)) * 100}%`, background: `var(${color})` }} />
        ) : null,
      )}
    </div>
  );
}
