// The certificates that the HTTP listeners serve, for the doctor's check of certificates.
import { type Certificate, isSamePair } from '../../config/certificate.ts';
import type { ListenerName } from '../../config/section/tls.ts';

/** The certificates that the callers of a listener get. */
export type Served = {
  /** The certificate that was loaded last. */
  readonly newest: Certificate;
  /** The certificate for callers that send no host name in the TLS handshake, such as those that call an IP address. */
  readonly byAddress: Certificate;
  /** The names in the newest certificate under which callers still get an older certificate. */
  readonly namesBehind: readonly string[];
};

export type ListenerCertificate = { readonly name: ListenerName; readonly served: Served };

/** Says, as text, which callers of a listener still get an older certificate; null if none do. */
export function leftBehind({ newest, byAddress, namesBehind }: Served): string | null {
  const parts = [
    ...(isSamePair(newest, byAddress) ? [] : ['by IP address']),
    ...(namesBehind.length === 0 ? [] : [`as ${namesBehind.join(', ')}`]),
  ];
  return parts.length === 0
    ? null
    : `callers that connect ${parts.join(' or ')} get the old certificate until the next start`;
}
