// The sizes of the commit log (`state.log`), in bytes.

export type LogSizes = {
  /** The maximum size of a segment. A checkpoint is due when this many bytes have been written to the log since the last checkpoint. */
  readonly segmentBytes: number;
  /** A checkpoint is also due when this many bytes have been written to the data file since the last checkpoint. */
  readonly churnBytes: number;
};

export const segmentBytesMin = 2 ** 20;
export const churnBytesMin = 2 ** 20;
export const defaultLogSizes: LogSizes = { segmentBytes: 16 * 2 ** 20, churnBytes: 32 * 2 ** 20 };
