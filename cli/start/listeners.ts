// The HTTP servers in front of the service: the API, the webhook listener, and the listener for metrics. All of them bind their addresses
// before any of them answers a request.
import type { Certificates, ListenerName } from '../../config/section/tls.ts';
import { makeAuthenticate } from '../../http/auth.ts';
import { serveMetrics } from '../../http/metrics-listener.ts';
import { perConfig } from '../../http/per-config.ts';
import { problemStatus } from '../../http/problem.ts';
import { makeRouteTable } from '../../http/route-table.ts';
import { makeRouter } from '../../http/router.ts';
import { apiRoutes } from '../../http/routes/api.ts';
import { bind, chooseTransport, type Server, serve } from '../../http/server.ts';
import type { TransportName } from '../../http/transport/transport.ts';
import { withUi } from '../../http/ui/routes.ts';
import { DeliveryEvents } from '../../http/webhooks/delivery-events.ts';
import { serveWebhooks } from '../../http/webhooks/listener.ts';
import type { Logger } from '../../runtime/log.ts';
import type { Running } from '../../runtime/supervisor.ts';
import type { ListenerCertificate } from '../../service/doctor/certificates.ts';
import type { Listeners } from '../../service/reload.ts';
import type { Service } from '../../service/service.ts';
import { ServedCertificates } from './certificates.ts';
import type { WorkLog } from './work-log.ts';

type HttpListenersOptions = {
  /** Returns the service. Must not be called before `start`, because the service is constructed after these listeners. */
  readonly service: () => Service;
  /** The certificates with which the listeners start. */
  readonly certificates: Certificates;
  /** Called when a listener uses a new certificate. Must not throw. */
  readonly onRenewed: () => void;
  readonly log: Logger;
  readonly workLog: WorkLog;
  readonly later: (act: () => void, ms: number) => void;
};

export class HttpListeners implements Listeners {
  readonly #options: HttpListenersOptions;
  readonly #certificates: ServedCertificates;
  /** The server of each listener; null: it is not up. */
  readonly #servers: { [Name in ListenerName | 'metrics']: Server | null } = {
    api: null,
    webhooks: null,
    metrics: null,
  };
  /** The name of the HTTP server in use; null until `start` has chosen the server. */
  serverName: TransportName | null = null;
  detail = 'none';
  #onFault: (error: Error) => void = () => {};

  constructor(options: HttpListenersOptions) {
    this.#options = options;
    this.#certificates = new ServedCertificates(options.log, () => options.service().config, options.onRenewed);
  }

  /** The port of a listener; 0 if it is not up. */
  port(name: ListenerName | 'metrics'): number {
    return this.#servers[name]?.port ?? 0;
  }

  served(): ListenerCertificate[] {
    return this.#certificates.served();
  }

  renew(certificates: Certificates): void {
    this.#certificates.renew(certificates);
  }

  /**
   * Reports this part of the service as dead after an uncaught exception on the main thread, whose memory may be inconsistent.
   * The service then ends.
   */
  fault(error: Error): void {
    this.#options.service().refuse();
    this.#onFault(error);
  }

  /**
   * Starts the webhook server, the API server if the API is enabled, and the server for metrics if it has an address. The webhook server starts
   * even without endpoints, because a reload may add some.
   */
  readonly start = async (): Promise<Running> => {
    const { certificates, log } = this.#options;
    const { api, webhooks, metrics, state } = this.#options.service().config;
    const { transport, reason } = await chooseTransport(api.server, state.path);
    this.serverName = transport.name;
    this.detail = reason === null ? transport.name : `${transport.name} (${reason})`;
    if (reason !== null) log.warn({ reason }, 'uWebSockets.js cannot be loaded; node:http serves instead');
    const apiListener = api.enabled ? await bind(transport, api.listen, 'api', certificates.api) : null;
    const webhookListener = await bind(transport, webhooks.listen, 'webhooks', certificates.webhooks).catch(error => {
      apiListener?.close();
      throw error;
    });
    if (metrics.listen !== null) {
      const metricsListener = await bind(transport, metrics.listen, 'metrics').catch(error => {
        apiListener?.close();
        webhookListener.close();
        throw error;
      });
      this.#servers.metrics = serveMetrics(metricsListener, this.#common('m'));
    }
    this.#servers.webhooks = this.#serveWebhooks(webhookListener);
    this.#certificates.add('webhooks', this.#servers.webhooks);
    if (apiListener !== null) {
      this.#servers.api = this.#serveApi(apiListener);
      this.#certificates.add('api', this.#servers.api);
    }
    const died = new Promise<Error>(resolve => {
      this.#onFault = resolve;
    });
    return { died, stop: () => this.#stop() };
  };

  #serveWebhooks(listener: Parameters<typeof serveWebhooks>[0]): Server {
    const { service, workLog, later } = this.#options;
    const { requests } = service().engine.metrics;
    return serveWebhooks(listener, {
      ...this.#common('w'),
      deliveryEvents: new DeliveryEvents({
        publish: groups => service().publish(groups),
        nowMs: Date.now,
        later,
        onAccepted: endpoint => requests.delivered(endpoint, 202),
        onRejected(endpoint, refusal) {
          requests.delivered(endpoint, problemStatus(refusal));
          workLog.refusedDelivery(endpoint, refusal);
        },
      }),
    });
  }

  /**
   * The common options of all listeners except the API. Their log does not warn of 401 or 403, because
   * `refusedDelivery` logs refused deliveries.
   */
  #common(prefix: string) {
    const { service, workLog } = this.#options;
    const log = workLog.serverLog(false);
    return { engine: service().engine, nowMs: Date.now, log, idPrefix: `${prefix}${Date.now().toString(36)}` };
  }

  #serveApi(listener: Parameters<typeof serve>[0]): Server {
    const { service, workLog } = this.#options;
    const all = makeRouteTable(apiRoutes);
    const table = perConfig(config => ({ ...all, router: makeRouter(withUi(apiRoutes, config)) }));
    return serve(listener, {
      engine: service().engine,
      nowMs: Date.now,
      log: workLog.serverLog(true),
      table,
      authenticate: makeAuthenticate(Date.now, () => service().adminDigest, service().engine.uiSessions),
      idPrefix: Date.now().toString(36),
    });
  }

  /**
   * Drains the service. During this time GET requests are answered and new work gets 503. Then accepts no further connections, and answers
   * the callers that are still waiting.
   */
  async #stop(): Promise<void> {
    const service = this.#options.service();
    await service.drain().catch(() => {});
    for (const server of Object.values(this.#servers)) server?.stopListening();
    service.engine.release();
    // Lets the answers to waiting callers be sent before another part of the service stops.
    await new Promise(resolve => setImmediate(resolve));
  }

  /** Closes the connections that are still open. Called after every part of the service has been stopped. */
  close(): void {
    for (const server of Object.values(this.#servers)) server?.close();
  }
}
