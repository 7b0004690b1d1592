// What the administrative routes ask, put together: reload, figures, doctor, selfcheck.
import { setTimeout as pause } from 'node:timers/promises';
import type { Gauges } from '../actors/job/gauges.ts';
import { newestCommitUs } from '../actors/job/journal.ts';
import { settledLately } from '../actors/job/minutes.ts';
import type { IdleReply, QueueReply } from '../actors/job/protocol.ts';
import { type Findings, lookedMax, selfcheck } from '../actors/job/selfcheck.ts';
import { type KeySource, keyVariable, readUnlockKey } from '../actors/vault/unlock-key.ts';
import { checkTrail, examineVault } from '../actors/vault/view.ts';
import type { Config } from '../config/config.ts';
import type { LoadResult } from '../config/load.ts';
import type { Administration, ReloadReply } from '../http/administration.ts';
import type { Link } from '../runtime/link.ts';
import { inSlices } from '../runtime/slices.ts';
import type { Reader } from '../runtime/store/store.ts';
import { examine } from './doctor.ts';

export type AdministrationParts = {
  readonly link: Link;
  readonly reader: Reader;
  readonly gauges: Gauges;
  readonly config: () => Config;
  /** Reads what is on disk now. */
  readonly read: () => LoadResult;
  readonly reload: () => ReloadReply;
  readonly startedAtMs: number;
};

export function openAdministration(parts: AdministrationParts): Administration {
  const { link, reader, gauges, config, read, reload, startedAtMs } = parts;
  const openedAtMs = performance.now();

  let checking: Promise<Findings> | null = null;

  async function check(): Promise<Findings> {
    const askIdle = async (ids: Uint8Array): Promise<Uint8Array | null> => {
      const reply = await link.ask<IdleReply | { readonly kind: 'refused' }>('job', { kind: 'ask_idle', ids });
      return reply.kind === 'idle' ? reply.ids : null;
    };
    const { invariantsChecked, failures, detail } = await selfcheck({ reader, askIdle, pause });
    const trail = checkTrail(reader, readUnlockKey(vaultKeys()), lookedMax);
    const broken = await inSlices(trail, () => reader.refresh());
    const own = broken === null ? [] : [{ invariant: 'vault_audit_is_whole', detail: broken }];
    return { invariantsChecked: invariantsChecked + 1, failures: [...failures, ...own], detail };
  }

  function vaultKeys(): KeySource {
    return { file: config().vault.keyFile, variable: process.env[keyVariable] };
  }

  return {
    reload,
    queue: () => link.ask<QueueReply>('job', { kind: 'ask_queue' }),
    summary() {
      reader.refresh();
      return {
        queued: gauges.get('queued') + gauges.get('delayed'),
        running: gauges.get('running') + gauges.get('runs'),
        ...settledLately(reader, Date.now() * 1000),
      };
    },
    doctor() {
      reader.refresh();
      return examine({
        config: config(),
        read,
        nowMs: Date.now(),
        upMs: performance.now() - openedAtMs,
        startedAtMs,
        committedUs: newestCommitUs(reader),
        nodeVersion: process.versions.node,
        vault() {
          reader.refresh();
          return examineVault(reader, readUnlockKey(vaultKeys()));
        },
      });
    },
    selfcheck() {
      // Whoever asks while one is under way gets what that one finds.
      checking ??= check().finally(() => {
        checking = null;
      });
      return checking;
    },
  };
}
