// Ratios of several rounds, and their spread.
import { median } from './percentile.ts';

export type Ratio = { readonly median: number; readonly least: number; readonly most: number };

/** null without ratios. */
export function spreadOf(ratios: readonly number[]): Ratio | null {
  if (ratios.length === 0) return null;
  return { median: median(ratios), least: Math.min(...ratios), most: Math.max(...ratios) };
}
