// The server: listens, and hands every request over. The only file that knows uWebSockets.js.

import uws, { type us_listen_socket } from 'uWebSockets.js';
import type { Config, ListenAddress } from '../config/config.ts';
import type { Authenticate } from './auth.ts';
import { BodyRoom } from './body.ts';
import type { Engine } from './engine.ts';
import { Exchange, type Shared } from './exchange.ts';
import type { ServerLog } from './log.ts';
import type { RouteTable } from './route-table.ts';

export type ServeOptions = {
  readonly listen: ListenAddress;
  /** The setting that says so, for messages: `api.listen`. */
  readonly setting: string;
  /** The routes of the configuration in force; asked with every request. */
  readonly table: (config: Config) => RouteTable;
  readonly authenticate: Authenticate;
  readonly engine: Engine;
  readonly log: ServerLog;
  readonly nowMs: () => number;
  /** Begins the request ids that are made here; different for each start and listener. */
  readonly idPrefix: string;
};

export type Server = {
  readonly port: number;
  /** Takes no new connections; those that are open are answered, and then closed while the engine is stopping. */
  stopListening(): void;
  /** Ends everything at once. */
  close(): void;
};

/** The address cannot be listened on. */
export class ListenFault extends Error {
  readonly code = 'listen_failed';
  constructor(setting: string, { host, port }: ListenAddress) {
    super(`${setting}: cannot listen on ${host}:${port}: in use, or not an address of this machine`);
  }
}

export function serve({ listen, setting, idPrefix, ...rest }: ServeOptions): Promise<Server> {
  let requests = 0;
  const nextRequestId = () => `${idPrefix}-${(++requests).toString(36)}`;
  const shared: Shared = { ...rest, room: new BodyRoom(), nextRequestId };
  const app = uws.App();
  app.any('/*', (res, req) => new Exchange(shared, res).begin(req));
  return new Promise((resolve, reject) => {
    const listening = (socket: us_listen_socket | false) => {
      if (!socket) {
        reject(new ListenFault(setting, listen));
        return;
      }
      let open = true;
      resolve({
        port: uws.us_socket_local_port(socket),
        stopListening() {
          if (open) uws.us_listen_socket_close(socket);
          open = false;
        },
        close() {
          open = false;
          app.close();
        },
      });
    };
    // Exclusive: by default a second service on the port would quietly share it. The typings lack this form.
    const listenOn = app.listen.bind(app) as unknown as ListenOn;
    listenOn(listen.host, listen.port, exclusivePort, listening);
  });
}

type ListenOn = (host: string, port: number, options: number, done: (socket: us_listen_socket | false) => void) => void;
const exclusivePort = 1;
