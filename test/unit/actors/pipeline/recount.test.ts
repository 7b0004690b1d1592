// The counts of open runs, when one of them cannot be read.
import { expect, test } from 'vitest';
import { DefinitionVersions } from '../../../../actors/pipeline/definition/definition-versions.ts';
import { Descendants } from '../../../../actors/pipeline/descendants.ts';
import { encodeAccepted } from '../../../../actors/pipeline/records/accepted-runs.ts';
import { recount } from '../../../../actors/pipeline/recount.ts';
import type { PipelineDefinition } from '../../../../config/pipeline/definition.ts';
import { makeBlockKeys } from '../../../../runtime/ids.ts';
import { WriteBatch } from '../../../../runtime/store/batch.ts';
import { SetAside } from '../../../../runtime/store/set-aside.ts';
import { openMemoryStore } from '../../../support/memory-store.ts';

test('runs of a batch that have not begun are counted again, so that their definition stays', () => {
  const store = openMemoryStore();
  const batch = new WriteBatch();
  const before = new DefinitionVersions();
  before.configure([{ name: 'p', steps: [] } as unknown as PipelineDefinition]);
  const version = before.current('p')!;
  before.keep(version, batch);
  batch.put(
    'accepted_runs',
    makeBlockKeys(() => 1).next(1),
    encodeAccepted({ key: Buffer.alloc(0), count: 7, hash: version.hash }),
  );
  batch.put('run_counts', version.hash, Buffer.of(0xc1));
  store.commit(batch);

  const after = new DefinitionVersions();
  const setAside = new SetAside();
  expect(after.load(store, setAside)).toBe(false);
  recount(store, after, new Descendants(store, () => 1, setAside), setAside);
  expect(after.open.runs).toBe(7);
  const later = new WriteBatch();
  after.sweep(store, { batch: later, nowUs: 1 });
  expect(after.ofHash(version.hash).name).toBe('p');
});
