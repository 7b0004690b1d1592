// The exit statuses of all commands.

export const exitStatus = {
  ok: 0,
  /** The job did not succeed, or the check found problems. */
  failed: 1,
  /** Invalid usage, or an invalid request (400, 422). */
  usage: 2,
  /** 401, 403. */
  denied: 3,
  notFound: 4,
  timedOut: 5,
  /** The job was cancelled. */
  cancelled: 6,
  /** The service cannot be reached, or answered 503. */
  unavailable: 69,
  defect: 70,
  io: 74,
  /** Another process uses the state or the address. */
  busy: 75,
  /** The configuration is invalid. */
  config: 78,
} as const;
