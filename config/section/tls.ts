// Reads `tls` and `behind_proxy` of a listener, and its certificate.
import { type Certificate, type CertificateProblem, readCertificate } from '../certificate.ts';
import type { ConfigProblem, Report } from '../check/problem.ts';
import type { Protection, TlsFiles } from '../config.ts';
import type { Files } from '../source/files.ts';
import { flagOf, nodeAt, placesAt, type SourceNode } from '../source/tree.ts';
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
    ...(flagOf(nodeAt(root, name, 'behind_proxy')) ? { behindProxy: true as const } : {}),
  };
}

export type CertificateRules = {
  readonly strict: boolean;
  readonly report: Report;
  /** Reports what is wrong with a certificate that can be served all the same. */
  readonly warn: Report;
};

export function readCertificates(
  root: SourceNode,
  files: { readonly [name in ListenerName]: TlsFiles | undefined },
  disk: Files,
  { strict, report, warn }: CertificateRules,
): Certificates {
  const found = listenerNames.flatMap(name => {
    if (files[name] === undefined) return [];
    const { certificate, problems, warnings } = readCertificate(files[name], disk, { nowMs: Date.now(), strict });
    const placed = ({ file, message }: CertificateProblem): ConfigProblem => {
      const path = [name, 'tls', file];
      return { place: placesAt(root, path).value, path, message };
    };
    for (const problem of problems) report(placed(problem));
    for (const warning of warnings) warn(placed(warning));
    return certificate === null ? [] : [[name, certificate] as const];
  });
  return Object.fromEntries(found);
}
