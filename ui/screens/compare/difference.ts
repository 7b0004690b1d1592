// How a figure differs between two runs or two windows of time, and whether the difference says something.

/** The percentiles that are compared, as shares of the samples; `max` is one sample, and never stands out. */
const shares = { p50: 0.5, p95: 0.95, p99: 0.99 } as const;
export type ComparedFigure = keyof typeof shares | 'max';

/** A percentile stands out if it has grown at least by this factor, or shrunk by it. */
const outstandingFactor = 1.25;
/** A percentile can stand out only if at least this many samples lie beyond it on both sides. */
const samplesBeyondMin = 5;

export type FigureSide = { readonly us: number; readonly samples: number };

export type FigureChange = {
  readonly us: number;
  /** Null: the first figure is 0. */
  readonly ratio: number | null;
  readonly standsOut: boolean;
};

/** The second figure minus the first; null: one side has no samples. */
export function changeOf(before: FigureSide, after: FigureSide, figure: ComparedFigure): FigureChange | null {
  const samples = Math.min(before.samples, after.samples);
  if (samples === 0) return null;
  const ratio = before.us === after.us ? 1 : before.us === 0 ? null : after.us / before.us;
  const isLarge = ratio !== null && (ratio >= outstandingFactor || ratio <= 1 / outstandingFactor);
  const isSure = figure !== 'max' && samples * (1 - shares[figure]) >= samplesBeyondMin - 1e-9;
  return { us: after.us - before.us, ratio, standsOut: isLarge && isSure };
}

/** A ratio in words: `+12 %`, `−3 %`, `4.1 ×`, `same`. */
export function ratioText(ratio: number | null): string {
  if (ratio === null) return 'new';
  if (ratio >= 3) return `${ratio >= 10 ? Math.round(ratio) : ratio.toFixed(1)} ×`;
  const percent = Math.round((ratio - 1) * 100);
  return percent === 0 ? 'same' : `${percent > 0 ? '+' : '−'}${Math.abs(percent)} %`;
}
