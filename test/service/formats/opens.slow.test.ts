// A state of each format that can be read, with all additions to it: it opens, its jobs run to their end, its vault and audit trail are whole.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readAudit } from '../../../cli/vault/audit.ts';
import { formatsRead, formatVersion } from '../../../runtime/store/format.ts';
import { openReaderBeside } from '../../../runtime/store/ledger-store.ts';
import { headgate } from '../../feature/cli/headgate.ts';
import { scrape } from '../../feature/metrics/scrape.ts';
import { placeIn, wholeTrail } from '../../feature/vault/service.ts';
import { isDeep } from '../../support/deep.ts';
import { Gateway } from '../gateway/gateway.ts';
import { until } from '../gateway/until.ts';
import { fixtures, placeFixture, readFixture } from './fixture.ts';

const backoff = { backoff_base: '1ms', backoff_max: '5ms' };

const formatOf = (name: string): number => Number.parseInt(name, 10);

test('each format that is read has a fixture', () => {
  expect([...new Set(fixtures.map(formatOf))]).toEqual(formatsRead);
});

/** The deep suite opens all fixtures. */
const opened = isDeep ? fixtures : fixtures.filter(name => ['9', ...fixtures.slice(-3)].includes(name));

test.each(opened)('a state of format %s', async name => {
  const fixture = readFixture(name);
  const { settings, ids, vault } = fixture;
  const { failing, ...others } = settings.instances!;
  const retry = { ...(failing!['retry'] as object), ...backoff };
  const gateway = new Gateway({ ...settings, instances: { ...others, failing: { ...failing, retry } } });
  onTestFinished(() => gateway.discard());
  placeFixture(gateway, name, fixture);
  const place = placeIn(join(gateway.directory, 'data'));
  const before = wholeTrail(readAudit(place, {}));
  expect([before.broken, before.records.length > 0]).toEqual([null, true]);

  // The plugin `mending` stops failing.
  gateway.open('mended');
  await gateway.start();
  // A state of an older format was backed up before the start changed it.
  const backups = join(gateway.directory, 'backups');
  const [written] = existsSync(backups) ? readdirSync(backups) : [];
  expect(written !== undefined).toBe(formatOf(name) !== formatVersion);
  if (written !== undefined) {
    const { status, json } = await headgate(['backup', 'verify', join(backups, written), '--json']);
    expect({ status, format: json.manifest.state_format, problems: json.problems }).toEqual({
      status: 0,
      format: formatOf(name),
      problems: [],
    });
  }
  const counted = await scrape(gateway);
  // The jobs of versions that did not count their sources count as called.
  expect(counted.sum('headgate_jobs_accepted_total', { source: 'api' })).toBeGreaterThan(10);
  if (['10-counted', '11-log', '11-times'].includes(name)) {
    for (const source of ['step', 'event', 'schedule', 'webhook', 'rerun'])
      expect(counted.sum('headgate_jobs_accepted_total', { source }), source).toBeGreaterThan(0);
    expect(counted.sum('headgate_schedule_fires_total', { schedule: 'fires' })).toBeGreaterThan(0);
  }
  const ends = async (id: string) => gateway.settled(ids[id]!);
  // What had settled is as it was, without having run again.
  expect(await ends('settled')).toMatchObject({
    status: 'succeeded',
    attempt: 1,
    result: { result: { secret: true } },
  });
  expect(await ends('failed')).toMatchObject({ status: 'failed', attempt: 1 });
  expect(await ends('large')).toMatchObject({ result: { result: { text: 'large '.repeat(2_000) } } });
  expect((await ends('fanned')).result?.result).toEqual({ succeeded: 3 });
  expect((await gateway.tree(ids['emitted']!)).map(({ plugin }) => plugin)).toEqual(['emitter', 'pipeline', 'echo']);

  // What was queued, running or to be retried ends.
  gateway.open('later');
  expect(await ends('retried')).toMatchObject({ status: 'succeeded', attempt: 2 });
  for (const id of ['running', 'queued-0', 'queued-4']) expect((await ends(id)).status).toBe('succeeded');
  // The held job runs, because the configuration has its plugin again.
  if (name !== '9') expect(await ends('held')).toMatchObject({ status: 'succeeded', attempt: 1 });
  expect((await ends('fan')).result?.result).toEqual({ succeeded: 6 });
  expect((await ends('outer')).status).toBe('succeeded');

  if ('named' in ids) {
    const event = { type: 'kind.kept', source: 'webhook:named', headers: { 'X-Kind': 'kept' } };
    expect(await ends('named')).toMatchObject({ status: 'succeeded', event });
    // The run began before the kill, with a definition that has a description; its end starts the hook.
    const told = async () => (await gateway.tree(ids['outer']!)).find(({ command }) => command === 'told');
    await until('its hook has a run', async () => (await told()) !== undefined);
    expect(await gateway.settled((await told())!.job_id)).toMatchObject({ status: 'succeeded' });
  }

  if ('fired' in ids) {
    const show = async (id: string) => (await gateway.call('GET', `/schedule/${id}`)).body;
    expect(await show('fires')).toMatchObject({
      state: 'paused',
      paused: { by: 'api:test', reason: 'kept' },
      history: expect.arrayContaining([expect.objectContaining({ outcome: 'succeeded', job_id: ids['fired'] })]),
    });
    expect(await ends('fired')).toMatchObject({ schedule: { id: 'fires' }, tags: { by: 'schedule' } });
    // The jobs of the schedule `queues` wait, because its plugin is paused until the test resumes it below.
    expect(await show('queues')).toMatchObject({ state: 'active', running: true, queued: expect.any(Number) });
    expect((await show('queues'))['queued']).toBeGreaterThan(1);
    // The backfill has fired three days.
    const days = { from: '2026-01-01T12:00:00Z', to: '2026-01-04T12:00:00Z', dry_run: true };
    const backfill = await gateway.call('POST', '/schedule/nightly/backfill', days);
    expect(backfill.body).toEqual({ matched: 3, already_fired: 3 });
    // The schedule was removed from the configuration before the kill; this configuration has it again.
    expect(await show('leaves')).toMatchObject({
      state: 'active',
      history: expect.arrayContaining([expect.anything()]),
    });
  }

  if ('cancelled' in ids) {
    // Each of these was cancelled, or told to stop, or fell under the detached cancel of a run. `paused` waits for a resume.
    for (const id of ['cancelled', 'stopping', 'telling', 'hearing'])
      expect(await ends(id)).toMatchObject({ status: 'cancelled', cancel: { by: 'api:test', reason: 'kept' } });
    expect(await gateway.waiting(ids['paused']!, 'paused')).toMatchObject({ status: 'queued' });
    await gateway.call('POST', '/control/plugin/resting/resume');
    expect(await ends('paused')).toMatchObject({ status: 'succeeded', attempt: 1 });
    if ('scheduled' in ids) expect(await ends('scheduled')).toMatchObject({ schedule: { id: 'queues' } });
    expect(await ends('rerun')).toMatchObject({ status: 'failed', rerun_of: ids['failed'], rerun_reason: 'kept' });
    const { reruns } = (await gateway.call('GET', `/job/${ids['failed']}`)).body;
    expect((reruns as string[]).at(-1)).toBe(ids['rerun']);
  }

  if ('acting' in ids) {
    const shown = async (id: string) => (await gateway.call('GET', `/action/${ids[id]}`)).body;
    expect(await shown('acted')).toMatchObject({
      state: 'succeeded',
      do: 'rerun',
      from: 'failed',
      done: 1,
      reason: 'kept',
    });
    expect(await shown('stopped')).toMatchObject({ state: 'cancelled', cancel: { by: 'api:test', reason: 'kept' } });
    // The service was killed during this action; the action goes on.
    expect((await ends('acting')).status).toBe('succeeded');
    expect(await shown('acting')).toMatchObject({ do: 'cancel', matched: 12, done: 12, skipped: {}, failed: 0 });
  }

  if ('mending' in ids) {
    // This rerun was under way; it goes on, and keeps the jobs that it had reused.
    expect(await ends('mending')).toMatchObject({ status: 'succeeded', counts: { succeeded: 2, reused: 3 } });
    expect(await ends('mended')).toMatchObject({ counts: { succeeded: 2, reused: 4 }, rerun_of: ids['patched'] });
    // The event that the old run dropped stays dropped.
    const again = await gateway.call('POST', `/job/${ids['patched']}/rerun`, { from: 'failed' });
    const run = await gateway.settled(String(again.body['job_id']));
    expect(run).toMatchObject({ status: 'succeeded', counts: { succeeded: 2, reused: 4 } });
  }

  if ('delayed' in ids) {
    for (const id of ['delayed', 'moved', 'delayed-run']) {
      const waiting = await gateway.waiting(ids[id]!, 'run_at');
      expect(waiting).toMatchObject({ status: 'queued', waits_for: { reason: 'run_at', until: waiting['run_at'] } });
      await gateway.call('POST', `/job/${ids[id]}/run-now`);
      expect((await ends(id)).status).toBe('succeeded');
    }
  }
  if ('in-finally' in ids) {
    // Each of these runs goes on where it was, through the phases that are left.
    const phases = async (id: string) =>
      Promise.all(
        (await gateway.tree(ids[id]!)).slice(1).map(async ({ job_id }) => {
          const { phase = 'steps', status } = (await gateway.call('GET', `/job/${job_id}`)).body;
          return `${phase} ${status}`;
        }),
      );
    for (const id of ['failing-late', 'in-on_failure', 'in-finally'])
      expect((await ends(id)).status).toBe(id === 'in-finally' ? 'cancelled' : 'failed');
    const through = ['on_failure succeeded', 'finally succeeded'];
    expect(await phases('failing-late')).toEqual(['steps failed', 'steps succeeded', 'steps succeeded', ...through]);
    expect(await phases('in-on_failure')).toEqual(['steps failed', ...through]);
    expect(await phases('in-finally')).toEqual(['steps succeeded', 'steps cancelled', 'finally succeeded']);
  }

  if ('batched' in ids) {
    // Some runs of the batch had not begun. All jobs of the batch have its tags.
    expect(await ends('batched')).toMatchObject({ status: 'succeeded', tags: { kind: 'kept' } });
    const left = async (status: string) => {
      const { body } = await gateway.call('GET', `/jobs?tag=kind:kept&status=${status}`);
      return Number(body['total']);
    };
    await until('all runs of the batch, and their jobs', async () => (await left('succeeded')) === 1_280);
  }

  // The state of plugins goes on, and the vault delivers.
  expect((await gateway.finished('keeper/handle')).result?.result).toEqual({ jobs: 2, secret: true });
  const { body } = await gateway.call('POST', '/vault/secret/revoke', { name: 'door' }, { token: vault.adminToken });
  expect(body).toMatchObject({ status: 'revoked' });

  expect((await gateway.call('GET', '/system/selfcheck')).body).toMatchObject({ status: 'ok', failures: [] });
  const after = wholeTrail(readAudit(place, {}));
  expect(after.broken).toBeNull();
  expect(after.records.slice(0, before.records.length)).toEqual(before.records);
  expect(after.records.map(({ op }) => op).slice(before.records.length)).toContain('secret.revoke');
  await gateway.kill9();
  const reader = openReaderBeside(place.statePath);
  expect(reader.get('meta', Buffer.from('format'))![0]).toBe(formatVersion);
  reader.close();
});
