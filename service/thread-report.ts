// What the threads of the service report to the main thread.

/** A thread's report to the actor `supervisor`. */
export type ThreadReport =
  | { readonly kind: 'ready' }
  | {
      readonly kind: 'log';
      readonly level: 'debug' | 'info' | 'warn' | 'error';
      readonly message: string;
      readonly fields: object;
    }
  /** The service must end with this exit status. */
  | { readonly kind: 'fatal'; readonly exitStatus: number; readonly message: string };
