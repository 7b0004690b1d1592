// What the administrative routes ask, put together: reload, figures, doctor, selfcheck.
import type { IndexCondition } from '../actors/index/indexer.ts';
import type { Gauges } from '../actors/job/gauges.ts';
import { newestCommitUs } from '../actors/job/journal.ts';
import { settledLately } from '../actors/job/minutes.ts';
import type { QueueReply } from '../actors/job/protocol.ts';
import { type Findings, lookedMax } from '../actors/job/selfcheck.ts';
import { type KeySource, looseModeOf, readUnlock } from '../actors/vault/unlock-key.ts';
import { checkTrail, examineVault } from '../actors/vault/view.ts';
import type { Config } from '../config/config.ts';
import type { Administration, Check } from '../http/administration.ts';
import type { Link } from '../runtime/link.ts';
import { inSlices } from '../runtime/slices.ts';
import type { Reader } from '../runtime/store/store.ts';
import type { ListenerCertificate } from './certificates.ts';
import { examine } from './doctor.ts';
import { heldNow } from './held.ts';
import type { Inspection } from './reads/inspection.ts';
import type { AskedSandbox, TriedSandboxes } from './sandboxes.ts';
import { setAsideNow } from './set-aside.ts';
import { shared } from './shared.ts';

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
