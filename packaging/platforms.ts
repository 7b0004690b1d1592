// The names and contents of the packages with uWebSockets.js binaries, one package per platform.
import type { Binary } from '../http/transport/uws-binary.ts';

export type Platform = { readonly platform: string; readonly arch: string; readonly libc?: string };

export const platforms: readonly Platform[] = [
  { platform: 'linux', arch: 'x64', libc: 'glibc' },
  { platform: 'linux', arch: 'arm64', libc: 'glibc' },
  { platform: 'darwin', arch: 'arm64' },
  { platform: 'darwin', arch: 'x64' },
];

/** The ABIs of Node 20, 22 and 24. */
export const abis = ['115', '127', '137'];

export function packageName({ platform, arch }: Platform): string {
  return `headgate-uws-${platform}-${arch}`;
}

export function belongsTo({ platform, arch }: Platform, binary: Binary): boolean {
  return binary.platform === platform && binary.arch === arch && abis.includes(binary.abi);
}
