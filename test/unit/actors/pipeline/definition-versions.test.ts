// Definitions that are stored for reruns although no open run and no configuration uses them any more.
import { expect, test } from 'vitest';
import { DefinitionVersions } from '../../../../actors/pipeline/definition/definition-versions.ts';
import type { PipelineDefinition } from '../../../../config/pipeline/definition.ts';
import { makeBlockKeys } from '../../../../runtime/ids.ts';
import { WriteBatch } from '../../../../runtime/store/batch.ts';
import { SetAside } from '../../../../runtime/store/set-aside.ts';
import { openMemoryStore } from '../../../support/memory-store.ts';

test.each([1, 5_000])(
  'a definition stays stored for a run of the turn in which it becomes unused (%i blocks)',
  blocks => {
    const store = openMemoryStore();
    const batch = new WriteBatch();
    const versions = new DefinitionVersions();
    versions.configure([{ name: 'p', steps: [] } as unknown as PipelineDefinition]);
    const version = versions.current('p')!;
    versions.keep(version, batch);
    versions.configure([]);
    versions.sweep(store, { batch, nowUs: 7_000 });
    const keys = makeBlockKeys(() => 1);
    let key = keys.next(7);
    for (let more = 1; more < blocks; more++) key = keys.next(7);
    batch.put('blocks', key, Buffer.of(0));
    store.commit(batch);
    const pruning = new WriteBatch();
    versions.prune(store, pruning, new SetAside());
    store.commit(pruning);
    expect(store.get('definitions', version.hash)).toBeDefined();
  },
);
