// What the administrative routes ask, put together: reload, figures, doctor, selfcheck.

import type { Gauges } from '../actors/job/gauges.ts';
import type { QueuedJobs, QueueReply, Refusal } from '../actors/job/protocol.ts';
import type { Status } from '../actors/job/records/job.ts';
import { newestCommitUs } from '../actors/job/records/journal.ts';
import { settledLately } from '../actors/job/records/minutes.ts';
import { type Findings, lookedMax } from '../actors/job/views/selfcheck.ts';
import { type KeySource, looseModeOf, readUnlock } from '../actors/vault/unlock-key.ts';
import { checkTrail, examineVault } from '../actors/vault/vault-check.ts';
import type { Config } from '../config/config.ts';
import type { Link } from '../runtime/link.ts';
import { inSlices } from '../runtime/slices.ts';
import type { Reader } from '../runtime/store/store.ts';
import type { ListenerCertificate } from './doctor/certificates.ts';
import type { Check } from './doctor/doctor.ts';
import { examine } from './doctor/doctor.ts';
import type { AskedSandbox, TriedSandboxes } from './doctor/sandboxes.ts';
import { setAsideNow } from './doctor/set-aside.ts';
import { heldNow } from './held.ts';
import type { IndexCondition } from './indexer/thread.ts';
import type { Inspection } from './reads/inspection.ts';
import { shared } from './shared.ts';

export type ReloadReply =
  /** `kept`: names of settings that changed and need a restart. */
  | {
      readonly kind: 'reloaded';
      readonly atUs: number;
      readonly kept: readonly string[];
      /** Jobs that the new configuration does not run. */
      readonly held: readonly QueuedJobs[];
    }
  /** It was asked for only where it holds nothing more; null: nobody can tell. */
  | { readonly kind: 'would_hold'; readonly held: readonly QueuedJobs[] | null }
  /** One line for each thing that is wrong; the configuration in force stays. */
  | { readonly kind: 'refused'; readonly problems: readonly string[] };

/** What a reload would find now; nothing is changed. `held` null: nobody can tell. */
export type ReloadTrial = {
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
  readonly held: readonly QueuedJobs[] | null;
};

export type Failure = { readonly invariant: string; readonly detail: string };
export type Selfcheck = {
  readonly invariantsChecked: number;
  readonly failures: readonly Failure[];
  /** How much was looked at. */
  readonly detail: string;
};

export interface Administration {
  /** Reads the configuration again and, when it is right, swaps it in one step; with `refuseHeld` only where that holds no more jobs. */
  reload(options: { readonly refuseHeld: boolean }): Promise<ReloadReply>;
  /** Reads and checks it, and says which jobs it would hold. */
  tryReload(): Promise<ReloadTrial>;
  /** What waits and runs now; or why nobody can tell. */
  queue(): Promise<QueueReply | { readonly kind: 'refused'; readonly refusal: Refusal }>;
  /** Jobs that settled in the last 24 hours, and those that are open, by status. */
  summary(): { readonly [S in Status]: number };
  doctor(): Promise<readonly Check[]>;
  selfcheck(): Promise<Selfcheck>;
}

export type AdministrationParts = {
  readonly link: Link;
  readonly reader: Reader;
  readonly gauges: Gauges;
  readonly config: () => Config;
  /** Compares the store with itself, on the thread for reads. */
  readonly selfcheck: () => Promise<Findings>;
  /** Looks at the configuration that is on disk now, there too. */
  readonly inspect: () => Promise<Inspection>;
  /** Which sandboxes can be had; there too. */
  readonly trySandboxes: (asked: readonly AskedSandbox[]) => Promise<TriedSandboxes>;
  readonly certificates: () => readonly ListenerCertificate[];
  readonly reload: Administration['reload'];
  readonly tryReload: Administration['tryReload'];
  /** The HTTP server in use, for the doctor. */
  readonly server: () => string;
  /** How the search index is, for the doctor. */
  readonly index: () => IndexCondition;
  readonly startedAtMs: number;
  /** What HEADGATE_VAULT_KEY was. */
  readonly vaultKey: string | undefined;
};

export function openAdministration(parts: AdministrationParts): Administration {
  const { link, reader, gauges, config, inspect, selfcheck, reload, tryReload, server, startedAtMs } = parts;
  const openedAtMs = performance.now();

  async function check(): Promise<Findings> {
    const { invariantsChecked, failures, detail } = await selfcheck();
    const trail = checkTrail(reader, readUnlock(vaultKeys()), lookedMax);
    const broken = await inSlices(trail, () => reader.refresh());
    const own = broken === null ? [] : [{ invariant: 'vault_audit_is_whole', detail: broken }];
    return { invariantsChecked: invariantsChecked + 1, failures: [...failures, ...own], detail };
  }

  function vaultKeys(): KeySource {
    return { file: config().vault.keyFile, variable: parts.vaultKey };
  }

  function doctor(): Promise<Check[]> {
    reader.refresh();
    return examine({
      config: config(),
      inspect,
      trySandboxes: parts.trySandboxes,
      nowMs: Date.now(),
      upMs: performance.now() - openedAtMs,
      startedAtMs,
      committedUs: newestCommitUs(reader),
      nodeVersion: process.versions.node,
      certificates: parts.certificates(),
      held: () => heldNow(link),
      setAside: () => setAsideNow(link),
      server: server(),
      index: parts.index(),
      vault() {
        reader.refresh();
        const keys = vaultKeys();
        return { condition: examineVault(reader, readUnlock(keys)), keys, looseMode: looseModeOf(keys) };
      },
    });
  }

  return {
    reload,
    tryReload,
    queue: () => link.ask<QueueReply>('job', { kind: 'ask_queue' }),
    summary() {
      reader.refresh();
      return {
        queued: gauges.get('queued') + gauges.get('delayed'),
        running: gauges.get('running') + gauges.get('runs'),
        ...settledLately(reader, Date.now() * 1000),
      };
    },
    doctor: shared(doctor),
    selfcheck: shared(check),
  };
}
