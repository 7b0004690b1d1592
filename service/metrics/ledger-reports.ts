// The newest reports of the ledger thread, and when they arrived. The main thread never waits for a report.
import type { LedgerFigures, LedgerPulse, LedgerReport } from '../../actors/job/reports/report-protocol.ts';

/** The ledger counts as down if one of its two reports is missing for this long. While its actors are up, it sends each once a second. */
const silentMsMax = 10_000;

export class LedgerReports {
  figures: LedgerFigures | null = null;
  pulse: LedgerPulse | null = null;
  #pulsedMs = performance.now();
  #reportedMs = performance.now();

  receive(report: LedgerReport): void {
    if (report.kind === 'ledger_pulse') {
      this.pulse = report;
      this.#pulsedMs = performance.now();
    } else {
      this.figures = report;
      this.#reportedMs = performance.now();
    }
  }

  /**
   * Whether the ledger runs turns and accepts work: its reports are recent, its actors are up, and its disk is not full. Before its first
   * pulse it counts as up for `silentMsMax`.
   */
  get isUp(): boolean {
    if (!this.pulse) return performance.now() - this.#pulsedMs < silentMsMax;
    return this.pulse.areActorsUp && this.figures?.isFull !== true && this.ageMs < silentMsMax;
  }

  /** The age of the newest pulse or of the newest figures, whichever is older. */
  get ageMs(): number {
    return performance.now() - Math.min(this.#pulsedMs, this.#reportedMs);
  }
}
