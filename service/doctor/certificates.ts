// The certificates that listeners serve, for the doctor.
import { type Certificate, isSamePair } from '../../config/certificate.ts';
import type { ListenerName } from '../../config/section/tls.ts';

/** The certificates that callers get. */
export type Served = {
  /** The newest certificate. */
  readonly newest: Certificate;
  /** The certificate for callers that name no host, such as those that call an IP address. */
  readonly byAddress: Certificate;
  /** Names of the newest certificate for which an older one is served. */
  readonly namesBehind: readonly string[];
};

export type ListenerCertificate = { readonly name: ListenerName; readonly served: Served };

/** For which callers a listener still serves an older certificate; null: none. */
export function leftBehind({ newest, byAddress, namesBehind }: Served): string | null {
  const parts = [
    ...(isSamePair(newest, byAddress) ? [] : ['by IP address']),
    ...(namesBehind.length === 0 ? [] : [`as ${namesBehind.join(', ')}`]),
  ];
  return parts.length === 0
    ? null
    : `callers that connect ${parts.join(' or ')} get the old certificate until the next start`;
}
