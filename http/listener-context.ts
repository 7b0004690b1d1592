// The context of a listener: the parts and functions that all its requests share.
import type { Config } from '../config/config.ts';
import type { Engine } from '../service/engine.ts';
import type { Authenticate } from './auth.ts';
import type { BodyRoom } from './body.ts';
import type { ServerLog } from './log.ts';
import type { RouteTable } from './route-table.ts';

export type ListenerContext = {
  readonly engine: Engine;
  readonly log: ServerLog;
  readonly authenticate: Authenticate;
  readonly room: BodyRoom;
  readonly batchRoom: BodyRoom;
  readonly takesChunks: boolean;
  /** Returns the routes under this configuration. Called for every request. */
  table(config: Config): RouteTable;
  nowMs(): number;
  nextRequestId(): string;
};
