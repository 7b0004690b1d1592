// A gateway with a vault: made before its start, and asked with the admin token.
import { join } from 'node:path';
import { type AuditLine, type AuditPages, readAudit } from '../../../cli/vault/audit.ts';
import { initVault } from '../../../cli/vault/init.ts';
import type { VaultLocation } from '../../../cli/vault/offline.ts';
import { watch } from '../../service/canary/canary.ts';
import type { Settings } from '../../service/gateway/configuration.ts';
import { type Gateway, type Launch, shareGateway } from '../../service/gateway/gateway.ts';

export type Told = { readonly status: number; readonly body: { readonly [key: string]: unknown } };

export class VaultGateway {
  readonly gateway: Gateway;
  readonly place: VaultLocation;
  adminToken: string;

  constructor(gateway: Gateway) {
    this.gateway = gateway;
    this.place = placeIn(join(gateway.directory, 'data'));
    this.adminToken = initVault(this.place).adminToken;
    watch('the admin token', this.adminToken);
  }

  async call(path: string, body: unknown, token: string | null = this.adminToken): Promise<Told> {
    const { name, value } = Object(body) as { readonly [field: string]: unknown };
    if (typeof value === 'string') watch(`the value of ${name}`, value);
    const { status, body: said } = await this.gateway.call('POST', `/vault/${path}`, body, { token });
    return { status, body: said };
  }

  /** Calls a route; returns the status and its word or code, such as `200 set` or `400 missing_value`. */
  async said(path: string, body: unknown, token?: string | null): Promise<string> {
    const { status, body: told } = await this.call(path, body, token);
    return `${status} ${told['status'] === status ? told['code'] : told['status']}`;
  }

  /** Calls a route, which must answer 200. */
  async do(path: string, body: unknown): Promise<Told['body']> {
    const { status, body: told } = await this.call(path, body);
    if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(told)}`);
    return told;
  }

  /** The trail as it is now. */
  trail(): readonly AuditLine[] {
    const { records, broken } = wholeTrail(readAudit(this.place, {}));
    if (broken !== null) throw new Error(broken);
    return records;
  }
}

/** All pages of a trail, and what is wrong with it; null if nothing is. */
export function wholeTrail(pages: AuditPages): {
  readonly records: readonly AuditLine[];
  readonly broken: string | null;
} {
  const records: AuditLine[] = [];
  for (;;) {
    const step = pages.next();
    if (step.done) return { records, broken: step.value };
    records.push(...step.value);
  }
}

export function placeIn(statePath: string): VaultLocation {
  return { statePath, keys: { file: join(statePath, 'vault.key'), variable: undefined } };
}

export function shareVaultGateway(settings: Settings, more: Launch = {}): VaultGateway {
  return new VaultGateway(shareGateway(settings, more));
}
