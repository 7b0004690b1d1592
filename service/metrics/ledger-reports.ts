// The newest reports of the ledger thread, and when they arrived. The main thread never waits for a report.
import type { LedgerFigures, LedgerPulse, LedgerReport } from '../../actors/job/report-protocol.ts';

/** A ledger without a report for this long counts as down. It sends one a second. */
const silentMsMax = 10_000;

export class LedgerReports {
  figures: LedgerFigures | null = null;
  pulse: LedgerPulse | null = null;
  #pulsedMs = performance.now();
  #reportedMs = performance.now();

  told(report: LedgerReport): void {
    if (report.kind === 'ledger_pulse') {
      this.pulse = report;
      this.#pulsedMs = performance.now();
    } else {
      this.figures = report;
      this.#reportedMs = performance.now();
    }
  }

  /** Whether the ledger makes turns and accepts work: it is neither silent nor at rest, and its disk is not full. */
  get isUp(): boolean {
    if (!this.pulse) return performance.now() - this.#pulsedMs < silentMsMax;
    return this.pulse.areActorsUp && this.figures?.isFull !== true && this.ageMs < silentMsMax;
  }

  /** How old the older one of the two newest reports is. */
  get ageMs(): number {
    return performance.now() - Math.min(this.#pulsedMs, this.#reportedMs);
  }
}
