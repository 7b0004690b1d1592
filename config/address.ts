// Which addresses nobody but this machine can reach.

/** Of a host as `api.listen` names it: an address, or a name. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase();
  return name === 'localhost' || name === '::1' || /^(::ffff:)?127(\.\d{1,3}){3}$/.test(name);
}
