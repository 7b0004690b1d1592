// The environment that plugin code sees: a few harmless names, and those that the configuration lets through.

/** The key of the vault is for the service alone, whatever the configuration lets through. */
const withheld = 'HEADGATE_VAULT_KEY';

/** The key, which is no longer in the environment then. */
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
