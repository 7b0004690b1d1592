// Ratios of several rounds, and their spread.
import { median } from './percentile.ts';

export type Ratio = { readonly median: number; readonly least: number; readonly most: number };

/** The median and the range of the ratios; null if there are no ratios. */
export function spreadOf(ratios: readonly number[]): Ratio | null {
  if (ratios.length === 0) return null;
  return { median: median(ratios), least: Math.min(...ratios), most: Math.max(...ratios) };
}
