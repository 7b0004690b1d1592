// Reloads the configuration from disk: puts it in force, or only reports the findings (dry run).
import type { Observations } from '../actors/hub/protocol.ts';
import type { HeldJobs, QueuedJobs } from '../actors/job/protocol.ts';
import type { Config } from '../config/config.ts';
import { type LoadResult, sealGap, sealWarnings } from '../config/load.ts';
import { compareForReload } from '../config/reload.ts';
import { accept } from '../config/seal/acceptance.ts';
import type { Certificates } from '../config/section/tls.ts';
import type { Link } from '../runtime/link.ts';
import type { Logger } from '../runtime/log.ts';
import type { ListenerCertificate } from './doctor/certificates.ts';
import { heldNow, heldText, heldUnder } from './held-jobs.ts';
import { withLocalToken } from './local-token.ts';
import type { UiSessions } from './ui-sessions.ts';

/** The part of the HTTP servers that the service uses. */
export interface Listeners {
  /** The name of the HTTP implementation in use, for the doctor. If uWebSockets.js could not be loaded, the reason follows in parentheses. */
  readonly detail: string;
  served(): readonly ListenerCertificate[];
  /** Never throws, because it is called when a part of the new configuration is already in force. */
  renew(certificates: Certificates): void;
}

export type ReloadReply =
  | {
      readonly kind: 'reloaded';
      readonly atUs: number;
      /** The names of settings that have changed, but keep their old values until a restart. */
      readonly kept: readonly string[];
      /** The jobs that are held after the reload, other than by a pause; empty if the ledger did not answer. */
      readonly held: readonly QueuedJobs[];
      /** The warnings for the log, for example about plugins that are not loaded. */
      readonly warnings: readonly string[];
    }
  /** Nothing was reloaded, because of `refuseHeld`: the new configuration would hold these jobs. Null: the ledger did not answer. */
  | { readonly kind: 'would_hold'; readonly held: readonly QueuedJobs[] | null }
  /** Nothing was reloaded, because of these problems. The old configuration stays in force. */
  | { readonly kind: 'refused'; readonly problems: readonly string[] };

/**
 * The findings of a dry run. `held`: the jobs that a reload would hold (`heldUnder`); empty if there are errors, null if the ledger did not
 * answer.
 */
export type ReloadDryRun = {
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
  readonly held: readonly QueuedJobs[] | null;
};

export type ReloadOptions = {
  readonly config: Config;
  readonly log: Logger;
  /** Applies the log settings of a configuration that has come into force. */
  readonly applyLog: (config: Config) => void;
  /** Reads and checks the configuration on disk. */
  readonly read: () => Promise<LoadResult>;
  readonly listeners: Listeners;
  readonly link: () => Link;
  readonly uiSessions: () => UiSessions;
  readonly publish: (groups: readonly Observations[]) => void;
};

export class Reload {
  readonly #options: ReloadOptions;
  readonly #log: Logger;
  /** The number of reloads by outcome. */
  readonly outcomes = new Map<string, number>([
    ['reloaded', 0],
    ['refused', 0],
  ]);
  #config: Config;
  #latest: Promise<unknown> = Promise.resolve();

  constructor(options: ReloadOptions) {
    this.#options = options;
    this.#log = options.log;
    this.#config = options.config;
  }

  /** The configuration in force. */
  get config(): Config {
    return this.#config;
  }

  /** Reads and checks the configuration on disk, and reports which jobs this configuration would hold. Changes nothing. */
  async dryRun(): Promise<ReloadDryRun> {
    const loaded = await this.#options.read();
    if (!loaded.ok) return { errors: loaded.problems, warnings: loaded.warnings, held: [] };
    const warnings = [...loaded.config.warnings, ...sealWarnings(loaded.seal)];
    return { errors: [], warnings, held: await this.#wouldHold(loaded.config) };
  }

  /** The jobs that a reload of this configuration would hold (`heldUnder`); null if the ledger did not answer. */
  #wouldHold(next: Config): Promise<readonly QueuedJobs[] | null> {
    return heldUnder(this.#options.link(), compareForReload(this.#config, next).config);
  }

  /**
   * Reads the configuration on disk and puts it in force. Refuses an invalid configuration, and any configuration if the local token or the
   * accepted lock cannot be written. With `refuseHeld`, also refuses a configuration that would hold further jobs, and any configuration if
   * the ledger does not answer. Begins when the previous reload has ended.
   */
  reload(options: { readonly refuseHeld: boolean }): Promise<ReloadReply> {
    const reply = this.#latest.then(() => this.#reload(options));
    this.#latest = reply.then(
      ({ kind }) => this.#count(kind),
      () => this.#count('refused'),
    );
    return reply;
  }

  #count(kind: ReloadReply['kind']): void {
    const outcome = kind === 'reloaded' ? kind : 'refused';
    this.outcomes.set(outcome, this.outcomes.get(outcome)! + 1);
  }

  async #reload({ refuseHeld }: { readonly refuseHeld: boolean }): Promise<ReloadReply> {
    const loaded = await this.#options.read();
    if (refuseHeld && loaded.ok) {
      const held = await this.#wouldHold(loaded.config);
      if (held === null || held.length > 0) return { kind: 'would_hold', held };
    }
    const swapped = this.#swap(loaded);
    if (swapped.kind !== 'reloaded') return swapped;
    const { kept } = swapped;
    const held = await this.logHeld();
    const message = kept.length > 0 ? 'configuration reloaded; some settings need a restart' : 'configuration reloaded';
    this.#log.info({ kept }, message);
    return { ...swapped, held };
  }

  /** Asks which jobs are held now, other than by a pause, logs them, and returns them; none if the ledger does not answer. */
  async logHeld(): Promise<readonly HeldJobs[]> {
    const held = (await heldNow(this.#options.link())) ?? [];
    if (held.length > 0) this.#log.warn({ held }, `jobs are held: ${heldText(held)}`);
    return held;
  }

  /** Puts the new configuration in force if it is valid. The change is synchronous, so no caller sees a partial change. */
  #swap(loaded: LoadResult): ReloadReply {
    if (!loaded.ok) {
      for (const problem of loaded.problems) this.#log.error(problem);
      this.#log.error('the configuration was not reloaded; the old one stays in force');
      return { kind: 'refused', problems: loaded.problems };
    }
    const { config: next, kept } = compareForReload(this.#config, loaded.config);
    let config: Config;
    let gap: string | null;
    try {
      ({ config } = withLocalToken(next));
      gap = accept(config.state.path, loaded.seal);
    } catch (error) {
      const problem = `${next.state.path}: cannot write the local token or the accepted lock: ${(error as Error).message}`;
      this.#log.error(problem);
      return { kind: 'refused', problems: [problem] };
    }
    this.#config = config;
    this.#options.listeners.renew(loaded.certificates);
    this.#options.applyLog(config);
    this.#options.uiSessions().keepThoseOf(config.api.tokens);
    const link = this.#options.link();
    link.tell('ledger', { kind: 'reconfigure', config });
    const warnings = [...config.warnings, ...sealWarnings(loaded.seal), ...(gap === null ? [] : [sealGap(gap)])];
    for (const warning of warnings) this.#log.warn(warning);
    const atUs = Date.now() * 1000;
    const fields = { plugins: Object.keys(config.plugins).length, kept: kept.join(', ') };
    this.#options.publish([{ kind: 'plain', type: 'config.reloaded', atUs, fields }, ...pluginsLoaded(config)]);
    return { kind: 'reloaded', atUs, kept, held: [], warnings };
  }
}

/** One observation for each enabled plugin instance. The observations are published on startup and on each reload. */
export function pluginsLoaded({ plugins }: Config): Observations[] {
  const atUs = Date.now() * 1000;
  return Object.values(plugins).map(({ name, manifest }) => {
    const fields = { plugin: name, version: manifest.version, runtime: manifest.runtime };
    return { kind: 'plain', type: 'plugin.loaded', atUs, fields };
  });
}
