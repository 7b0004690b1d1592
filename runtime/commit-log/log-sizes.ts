// The sizes of the commit log (`state.log`), in bytes.

export type LogSizes = {
  /** The maximum size of a segment. */
  readonly segmentBytes: number;
  /** The maximum growth of the data file between checkpoints. */
  readonly churnBytes: number;
};

export const segmentBytesMin = 2 ** 20;
export const churnBytesMin = 2 ** 20;
export const defaultLogSizes: LogSizes = { segmentBytes: 16 * 2 ** 20, churnBytes: 64 * 2 ** 20 };
