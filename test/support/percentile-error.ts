/** The maximum relative error of a percentile of a histogram (actors/index/records/histogram.ts). */
export const percentileErrorMax = 1 / 64;
