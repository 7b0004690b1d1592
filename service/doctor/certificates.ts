// The certificates that listeners serve, as the doctor looks at them.
import { type Certificate, isSamePair } from '../../config/certificate.ts';
import type { ListenerName } from '../../config/section/tls.ts';

/** Which certificates callers get. */
export type Served = {
  /** The one that came last. */
  readonly newest: Certificate;
  /** What a caller gets that names no host, as one does that calls an IP address. */
  readonly byAddress: Certificate;
  /** Names of the newest one that still get an older one. */
  readonly namesBehind: readonly string[];
};

export type ListenerCertificate = { readonly name: ListenerName; readonly served: Served };

/** What of a listener still has an older certificate; null: nothing. */
export function leftBehind({ newest, byAddress, namesBehind }: Served): string | null {
  const parts = [
    ...(isSamePair(newest, byAddress) ? [] : ['certificate by address is still the old one']),
    ...(namesBehind.length === 0 ? [] : [`so is that of ${namesBehind.join(', ')}`]),
  ];
  return parts.length === 0 ? null : `${parts.join(', and ')} until the next start`;
}
