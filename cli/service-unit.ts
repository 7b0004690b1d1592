// Builds the text of a systemd unit with the paths of this installation. It reads and writes no file.

type UnitOptions = {
  /** `node`, `main`, `config` and `state` are absolute paths. */
  readonly node: string;
  readonly main: string;
  readonly config: string;
  readonly state: string;
  /** The directory of scheduled backups; null: no backups are scheduled. */
  readonly backups: string | null;
  /** The directory to which audit records are exported (`vault.audit_export`); null: they are not exported. */
  readonly auditExport: string | null;
  readonly user: string;
  /** Whether a plugin uses bubblewrap, which needs namespaces and mounts. */
  readonly hasBubblewrap: boolean;
};

/** Restrictions that would prevent bubblewrap from creating its sandbox. */
const bubblewrapConflicts = ['ProtectKernelTunables', 'ProtectKernelLogs', 'RestrictNamespaces'];

export function serviceUnit(options: UnitOptions): string {
  const { node, main, config, state, backups, auditExport, user, hasBubblewrap } = options;
  // A dash before a path makes systemd ignore a directory that does not exist.
  const writable = [state, ...[backups, auditExport].filter(path => path !== null).map(path => `-${path}`)];
  const hardening: readonly (readonly [name: string, value: string])[] = [
    ['NoNewPrivileges', 'yes'],
    ['ProtectSystem', 'strict'],
    ['ProtectHome', 'read-only'],
    ['ReadWritePaths', writable.map(word).join(' ')],
    ['PrivateTmp', 'yes'],
    ['PrivateDevices', 'yes'],
    ['ProtectClock', 'yes'],
    ['ProtectHostname', 'yes'],
    ['ProtectControlGroups', 'yes'],
    ['ProtectKernelModules', 'yes'],
    ['ProtectKernelTunables', 'yes'],
    ['ProtectKernelLogs', 'yes'],
    ['RestrictNamespaces', 'yes'],
    ['RestrictRealtime', 'yes'],
    ['RestrictSUIDSGID', 'yes'],
    ['LockPersonality', 'yes'],
    ['RestrictAddressFamilies', 'AF_UNIX AF_INET AF_INET6 AF_NETLINK'],
    ['SystemCallArchitectures', 'native'],
    ['SystemCallFilter', hasBubblewrap ? '@system-service @mount' : '@system-service'],
    ['SystemCallErrorNumber', 'EPERM'],
    ['CapabilityBoundingSet', ''],
    ['AmbientCapabilities', ''],
    ['RemoveIPC', 'yes'],
    ['UMask', '0077'],
    ['LimitCORE', '0'],
  ];
  const kept = hardening.filter(([name]) => !hasBubblewrap || !bubblewrapConflicts.includes(name));
  const bubblewrap = `# A plugin runs in bubblewrap, which creates namespaces and mounts: ${bubblewrapConflicts.join(', ')}\n# are left out, and @mount is allowed.\n`;
  return `[Unit]
Description=headgate job-execution gateway
After=network.target
StartLimitIntervalSec=60
StartLimitBurst=20

[Service]
Type=exec
User=${user}
ExecStart=${quoted(node)} ${quoted(main)} start --config ${quoted(config)} --grace 30s
ExecReload=/bin/kill -HUP $MAINPID
# After SIGTERM, running jobs have 30 s to finish; those that are still running then are queued again.
TimeoutStopSec=45
KillMode=mixed
Restart=on-failure
RestartSec=1
# 78: the configuration is invalid, and a restart does not help.
RestartPreventExitStatus=78
# Values of the variables that the configuration names, such as tokens: a file that only root can read, with a line NAME=value for each.
#EnvironmentFile=/etc/headgate.env
# The unlock key of the vault can come from systemd: vault.key_file: \${CREDENTIALS_DIRECTORY}/vault.key
#LoadCredential=vault.key:/etc/headgate-vault.key

# For a sealed configuration: the service writes a note of the accepted lock beside the seal key, so the directory of the key must be writable.
#Environment=HEADGATE_SEAL_KEY_FILE=/var/lib/headgate-seal/seal.key
#ReadWritePaths=/var/lib/headgate-seal

# MemoryDenyWriteExecute stays off: V8 generates code at run time.
${hasBubblewrap ? bubblewrap : ''}${kept.map(([name, value]) => `${name}=${value}\n`).join('')}
[Install]
WantedBy=multi-user.target
`;
}

/** Quotes a word of a command line for systemd, in which `$` begins a variable. */
function quoted(path: string): string {
  return word(path.replaceAll('$', '$$$$'));
}

/** Quotes a word for systemd, in which `%` begins a specifier. */
function word(path: string): string {
  const escaped = path.replaceAll('%', '%%');
  return /^[\w@%+=:,./$-]+$/.test(escaped) ? escaped : `"${escaped.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}
