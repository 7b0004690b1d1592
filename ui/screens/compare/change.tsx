// A figure before and after, with its change. A change that stands out has a mark in addition to its colour.
import type { JSX } from 'preact';
import { duration } from '../../core/format.ts';
import { type ComparedFigure, changeOf, type FigureSide, ratioText } from './difference.ts';

export type ChangeProps = { readonly before: FigureSide; readonly after: FigureSide; readonly figure: ComparedFigure };

export function Change({ before, after, figure }: ChangeProps): JSX.Element {
  const change = changeOf(before, after, figure);
  const side = ({ us, samples }: FigureSide) => (samples === 0 ? '–' : duration(us));
  const isLonger = change !== null && change.us > 0;
  const kind = change?.standsOut ? (isLonger ? 'change-longer' : 'change-shorter') : '';
  return (
    <span class={`change number ${kind}`}>
      <span class="change-sides">
        {side(before)} → {side(after)}
      </span>
      {change && (
        <span class="change-by">
          {change.standsOut && <span aria-hidden="true">{isLonger ? '▲ ' : '▼ '}</span>}
          {ratioText(change.ratio)}
          {change.standsOut && <span class="offscreen">, stands out</span>}
        </span>
      )}
    </span>
  );
}
