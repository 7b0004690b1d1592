// The reports of the service's threads to the main thread.
import type { HostLogLevel } from '../runtime/host/wire/plugin-host.ts';

/** A message from a thread to the actor `supervisor`. `ready`: the thread is up. `log`: a line for the log. */
export type ThreadReport =
  | { readonly kind: 'ready' }
  | { readonly kind: 'log'; readonly level: HostLogLevel; readonly message: string; readonly fields: object }
  /** The service must end with this exit status. */
  | { readonly kind: 'fatal'; readonly exitStatus: number; readonly message: string };
