// Chooses the environment variables of plugin code: a fixed list of harmless variables, every variable whose name begins with
// `LC_`, and the variables that the configuration passes through.

/** The variable with the vault's unlock key. It is never passed to plugin code, even if the configuration lists it. */
const withheld = 'HEADGATE_VAULT_KEY';

/** Returns the vault's unlock key and removes it from the environment. */
export function takeVaultKey(env: NodeJS.ProcessEnv): string | undefined {
  const key = env[withheld];
  delete env[withheld];
  return key;
}
const names = ['PATH', 'HOME', 'TZ', 'LANG', 'LANGUAGE', 'TMPDIR'];

export function pluginEnvironment(from: NodeJS.ProcessEnv, passthrough: readonly string[]): { [name: string]: string } {
  const allowed = new Set([...names, ...passthrough]);
  allowed.delete(withheld);
  const kept: { [name: string]: string } = {};
  for (const [name, value] of Object.entries(from)) {
    if (value !== undefined && (allowed.has(name) || name.startsWith('LC_'))) kept[name] = value;
  }
  return kept;
}
