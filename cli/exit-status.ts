// The exit statuses of all commands.

export const exitStatus = {
  ok: 0,
  /**
   * The job failed or is dead, a check found problems, or the request was refused for a reason that no other status covers, such as
   * `already_settled` (409).
   */
  failed: 1,
  /** The command line or its input is invalid, or the service refused the request as invalid (400, 405, 413, 415, 422). */
  usage: 2,
  /** A token is missing or unknown (401), or lacks the scope (403). */
  denied: 3,
  notFound: 4,
  timedOut: 5,
  cancelled: 6,
  /** The service cannot be reached, gave a broken answer, answered 502, 503 or 504, or accepted only the first jobs of a batch. */
  unavailable: 69,
  defect: 70,
  io: 74,
  /** Another process uses the state directory, or the service cannot listen on an address. */
  busy: 75,
  /** The configuration is invalid or missing, or the service refused a reload (409). */
  config: 78,
} as const;
