// What of the time axis is in view, as the URL keeps it.
import { parseSpan, type TimeSpan } from './scale.ts';

export type StripView = {
  readonly span: TimeSpan;
  readonly isZoomed: boolean;
  readonly collapses: boolean;
};

/** Reads the view from the parameters of the URL: `zoom` and `idle`. */
export function stripView(query: URLSearchParams, durationUs: number): StripView {
  const span = parseSpan(query.get('zoom'), durationUs);
  return {
    span: span ?? { fromUs: 0, toUs: Math.max(1, durationUs) },
    isZoomed: span !== null,
    collapses: query.get('idle') === 'collapsed',
  };
}
