// The file of the vault's unlock key, and the file beside it.

/** The path of the file that keeps a new key until the keyring is sealed under that key. */
export function nextKeyFile(file: string): string {
  return `${file}.next`;
}
