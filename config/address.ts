// Recognizes addresses that only this machine can reach.

/** `host`: an address or a name; an IPv6 address has no brackets. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase();
  return name === 'localhost' || name === '::1' || /^(::ffff:)?127(\.\d{1,3}){3}$/.test(name);
}
