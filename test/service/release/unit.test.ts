// The systemd unit: its paths are right, it is as restricted as the service allows, and systemd accepts it where it is installed.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { serviceUnit } from '../../../cli/service-unit.ts';

const common = {
  node: '/usr/bin/node',
  main: '/opt/headgate/dist/cli/main.js',
  config: '/etc/headgate',
  state: '/var/lib/headgate',
  backups: null,
  auditExport: null,
  user: 'headgate',
  hasBubblewrap: false,
};
const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;

test('packaging/headgate.service is what the command prints for the usual places', () => {
  expect(readFileSync(new URL('../../../packaging/headgate.service', import.meta.url), 'utf8')).toBe(
    serviceUnit(common),
  );
});

test('paths are words of their own, whatever is in them', () => {
  const unit = serviceUnit({ ...common, config: '/srv/a b/50%', state: '/srv/$x' });
  expect(unit).toContain('start --config "/srv/a b/50%%" --grace 30s\n');
  expect(unit).toContain('ReadWritePaths=/srv/$x\n');
});

test('where a plugin runs in bubblewrap, the unit leaves it what it needs, and says so', () => {
  const unit = serviceUnit({ ...common, hasBubblewrap: true });
  expect(unit).toContain('SystemCallFilter=@system-service @mount\n');
  expect(unit).not.toMatch(/^(ProtectKernelTunables|ProtectKernelLogs|RestrictNamespaces)=/m);
  expect(unit).toContain('# A plugin runs in bubblewrap');
});

test.skipIf(!hasSystemd)('systemd takes the unit, and rates its exposure at 3.0 or less', () => {
  const directory = mkdtempSync(join(tmpdir(), 'headgate-unit-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const path = join(directory, 'headgate-test.service');
  // The program and the user that it names must exist to be verified.
  writeFileSync(path, serviceUnit({ ...common, node: process.execPath, user: 'root' }));
  const verified = spawnSync('systemd-analyze', ['verify', path], { encoding: 'utf8' });
  expect([verified.status, verified.stderr]).toEqual([0, '']);
  const rated = spawnSync('systemd-analyze', ['security', '--offline=true', '--threshold=30', path], {
    encoding: 'utf8',
  });
  expect(rated.status, rated.stdout).toBe(0);
});
