// The functions of the administrative routes: reload, the queue and the summary, the doctor and the selfcheck.
import type { Gauges } from '../actors/job/gauges.ts';
import type { Status } from '../actors/job/records/job.ts';
import { newestCommitUs } from '../actors/job/records/journal.ts';
import { settledRecently } from '../actors/job/records/minute-counters.ts';
import { listPauses } from '../actors/job/views/pauses.ts';
import { checkedMax, type Findings } from '../actors/job/views/selfcheck.ts';
import { pausedSchedules } from '../actors/schedule/views/schedules.ts';
import { type KeySource, looseModeOf, readUnlock } from '../actors/vault/unlock-key.ts';
import { checkTrail, examineVault } from '../actors/vault/vault-check.ts';
import type { Config } from '../config/config.ts';
import type { LoadOptions } from '../config/load.ts';
import type { Link } from '../runtime/link.ts';
import { Slices } from '../runtime/slices.ts';
import type { Reader } from '../runtime/store/store.ts';
import { askLedger } from './ask-ledger.ts';
import type { Backups } from './backup/backups.ts';
import { type Check, examine } from './doctor/doctor.ts';
import { heldNow } from './held-jobs.ts';
import type { IndexCondition } from './indexer/thread.ts';
import type { ReadsClient as ReadsThread } from './reads/reads-client.ts';
import type { Listeners, Reload } from './reload.ts';
import { singleFlight } from './single-flight.ts';

export type AdministrationOptions = {
  readonly link: Link;
  readonly reader: Reader;
  readonly gauges: Gauges;
  readonly reads: Pick<ReadsThread, 'selfcheck' | 'inspect' | 'trySandboxes'>;
  /** The configuration in force. */
  readonly config: () => Config;
  /** The location of the configuration on disk, which the doctor reads. */
  readonly source: Omit<LoadOptions, 'env'>;
  readonly reload: Pick<Reload, 'reload' | 'dryRun'>;
  readonly listeners: Pick<Listeners, 'detail' | 'served'>;
  readonly index: () => IndexCondition;
  readonly backups: Pick<Backups, 'condition'>;
  readonly startedAtMs: number;
  /** The time since the start, by the monotonic clock. */
  readonly upMs: () => number;
  /** The value of HEADGATE_VAULT_KEY on startup. */
  readonly vaultKey: string | undefined;
};

export type Administration = ReturnType<typeof openAdministration>;

export function openAdministration(options: AdministrationOptions) {
  const { link, reader, gauges, reads, config, source, reload, listeners, startedAtMs } = options;
  const slices = new Slices(() => reader.refresh());

  async function selfcheck(): Promise<Findings> {
    const { invariantsChecked, failures, detail } = await reads.selfcheck();
    const trail = checkTrail(reader, readUnlock(vaultKeys()), checkedMax);
    const broken = await slices.share().run(trail);
    const own = broken === null ? [] : [{ invariant: 'vault_audit_is_whole', detail: broken }];
    return { invariantsChecked: invariantsChecked + 1, failures: [...failures, ...own], detail };
  }

  function vaultKeys(): KeySource {
    return { file: config().vault.keyFile, variable: options.vaultKey };
  }

  async function doctor(): Promise<readonly Check[]> {
    const inForce = config();
    const schedules = await slices.share().run(pausedSchedules(reader, inForce.schedules));
    reader.refresh();
    return examine({
      config: inForce,
      inspect: () => reads.inspect(source),
      trySandboxes: asked => reads.trySandboxes(asked),
      nowMs: Date.now(),
      upMs: options.upMs(),
      startedAtMs,
      committedUs: newestCommitUs(reader),
      nodeVersion: process.versions.node,
      certificates: listeners.served(),
      held: () => heldNow(link),
      pauses: listPauses(reader),
      schedules,
      setAside: () => askLedger(link, { kind: 'ask_set_aside' }),
      server: listeners.detail,
      index: options.index(),
      backups: options.backups.condition,
      vault() {
        reader.refresh();
        const keys = vaultKeys();
        return { condition: examineVault(reader, readUnlock(keys)), keys, looseMode: looseModeOf(keys) };
      },
    });
  }

  return {
    reload: (options: Parameters<Reload['reload']>[0]) => reload.reload(options),
    dryRunReload: () => reload.dryRun(),
    /** The state of the queue and its lanes; null if the ledger did not answer. */
    queue: () => askLedger(link, { kind: 'ask_queue' }),
    /** The number of jobs by status: all unsettled jobs, and the jobs that settled in the last 24 hours. */
    summary(): { readonly [S in Status]: number } {
      reader.refresh();
      return {
        queued: gauges.get('queued') + gauges.get('retrying') + gauges.get('scheduled'),
        running: gauges.get('running') + gauges.get('runs'),
        ...settledRecently(reader, Date.now() * 1000),
      };
    },
    doctor: singleFlight(doctor),
    selfcheck: singleFlight(selfcheck),
  };
}
