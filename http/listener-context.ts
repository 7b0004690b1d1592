// What all requests of a listener share.

import type { Config } from '../config/config.ts';
import type { Engine } from '../service/engine.ts';
import type { Authenticate } from './auth.ts';
import type { BodyRoom } from './body.ts';
import type { ServerLog } from './log.ts';
import type { RouteTable } from './route-table.ts';

/** The parts and functions that all requests of a listener share. */
export type ListenerContext = {
  readonly engine: Engine;
  readonly log: ServerLog;
  readonly authenticate: Authenticate;
  readonly room: BodyRoom;
  readonly batchRoom: BodyRoom;
  /** Whether the server accepts chunked bodies. */
  readonly takesChunks: boolean;
  /** Returns the routes under this configuration. Called for every request. */
  table(config: Config): RouteTable;
  nowMs(): number;
  nextRequestId(): string;
};
