// The sandboxes that plugins require. A sandbox is tried before the first job of such a plugin is dispatched; if it does not work on
// this machine, the jobs are held.
import { type Config, instanceNamed } from '../../../config/config.ts';
import type { Sandbox } from '../../../runtime/processes/sandbox.ts';

/** Returns why the sandbox does not work on this machine. Null: it works. */
export type TrySandbox = (sandbox: Sandbox) => Promise<string | null>;

export class Sandboxes {
  readonly #attempt: TrySandbox;
  readonly #onTried: () => void;
  #config: Config;
  /** By sandbox: why it does not work; null: it works; undefined: it is being tried. */
  readonly #found = new Map<string, string | null | undefined>();

  /** `onTried` is called when the trial of a sandbox has ended: fewer plugins may be held from then on. */
  constructor(config: Config, attempt: TrySandbox, onTried: () => void) {
    this.#config = config;
    this.#attempt = attempt;
    this.#onTried = onTried;
  }

  /** Tries the sandboxes of this configuration that are new or did not work before. */
  configure(config: Config): void {
    this.#config = config;
    for (const { sandbox } of Object.values(config.plugins)) if (sandbox) this.#try(sandbox);
  }

  #try(sandbox: Sandbox): void {
    const key = JSON.stringify(sandbox);
    // A sandbox that works, or that is being tried, is not tried again.
    if (this.#found.has(key) && !this.#found.get(key)) return;
    this.#found.set(key, undefined);
    const found = (fault: string | null): void => {
      this.#found.set(key, fault);
      this.#onTried();
    };
    void this.#attempt(sandbox).then(found, (error: Error) => found(error.message));
  }

  /** Why the sandbox of the instance holds its jobs. Null: it does not hold them. */
  readonly holdOf = (instance: string): string | null => {
    const sandbox = instanceNamed(this.#config, instance)?.sandbox;
    if (!sandbox) return null;
    const fault = this.#found.get(JSON.stringify(sandbox));
    if (fault === null) return null;
    if (fault === undefined) return `its sandbox "${sandbox.kind}" is being tried`;
    return `its sandbox "${sandbox.kind}" is unavailable: ${fault}`;
  };
}
