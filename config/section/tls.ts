// Reads `tls` and `behind_proxy` of a listener, and its certificate.
import { type Certificate, type ReadingRules, readCertificate } from '../certificate.ts';
import { type Report, reportIn } from '../check/problem.ts';
import type { Protection, TlsFiles } from '../config.ts';
import type { Files } from '../source/files.ts';
import { flagOf, nodeAt, type SourceNode } from '../source/tree.ts';
import { readPath } from './service.ts';

export const listenerNames = ['api', 'webhooks'] as const;
export type ListenerName = (typeof listenerNames)[number];
/** The certificate of each listener that has TLS. */
export type Certificates = { readonly [name in ListenerName]?: Certificate };

export function readProtection(root: SourceNode, name: ListenerName): Protection {
  const tls = nodeAt(root, name, 'tls');
  const [cert, key] = [readPath(nodeAt(tls, 'cert')), readPath(nodeAt(tls, 'key'))];
  return {
    ...(cert !== undefined && key !== undefined ? { tls: { cert, key } } : {}),
    ...(flagOf(root, name, 'behind_proxy') ? { behindProxy: true as const } : {}),
  };
}

type CertificateRules = Pick<ReadingRules, 'strict'> & {
  readonly report: Report;
  /** Reports a problem of a certificate that can still be served. */
  readonly warn: Report;
};

export function readCertificates(
  root: SourceNode,
  files: { readonly [name in ListenerName]: TlsFiles | undefined },
  disk: Files,
  { strict, report, warn }: CertificateRules,
): Certificates {
  const [reportAt, warnAt] = [reportIn(root, report), reportIn(root, warn)];
  const found = listenerNames.flatMap(name => {
    if (files[name] === undefined) return [];
    const { certificate, problems, warnings } = readCertificate(files[name], disk, { nowMs: Date.now(), strict });
    for (const { file, message } of problems) reportAt([name, 'tls', file], message);
    for (const { file, message } of warnings) warnAt([name, 'tls', file], message);
    return certificate === null ? [] : [[name, certificate] as const];
  });
  return Object.fromEntries(found);
}
