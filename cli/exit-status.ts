// What the command's exit statuses mean.

export const exitStatus = {
  ok: 0,
  /** The job did not succeed, or the check found something. */
  failed: 1,
  /** Wrong use of the command, or a request that the service calls wrong (400, 422). */
  usage: 2,
  /** 401, 403. */
  denied: 3,
  notFound: 4,
  timedOut: 5,
  /** The service cannot be reached, or answers 503. */
  unavailable: 69,
  defect: 70,
  io: 74,
  /** Another process has what is needed. */
  busy: 75,
  /** The configuration is wrong. */
  config: 78,
} as const;
