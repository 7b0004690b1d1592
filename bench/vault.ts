// Bench: the cost of secrets. On one service, a fan-out runs alternately with two secrets granted to its plugin, and
// with none.
import { initVault } from '../cli/vault/init.ts';
import { openStore } from '../runtime/store/ledger-store.ts';
import { atLeast, type Bench } from './bench.ts';
import { fanPipeline, runFan } from './fan-run.ts';
import { percentile } from './percentile.ts';
import type { Stage } from './stage.ts';

type VaultBench = { readonly children: number; readonly runs: number };

const names = ['bench-one', 'bench-two'];

export const vault: Bench<VaultBench> = {
  name: 'vault',
  purpose: 'a pipeline run with 100,000 children whose plugin is granted two secrets, beside the same without them',
  limitMs: { smoke: 30_000, real: 300_000 },
  parameters: { smoke: { children: 2_000, runs: 2 }, real: { children: 100_000, runs: 5 } },

  async run({ children, runs }: VaultBench, stage: Stage) {
    const keys = { file: `${stage.state}/vault.key`, variable: undefined };
    const { adminToken } = initVault({ statePath: stage.state, keys });
    const service = await stage.start({ pipelines: [fanPipeline] });
    const post = async (path: string, body: object): Promise<void> => {
      const response = await fetch(new URL(path, service.url), {
        method: 'POST',
        headers: { Authorization: `Bearer ${adminToken}`, 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      });
      if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    };
    const grant = async (principals: readonly string[]): Promise<void> => {
      for (const name of names) {
        await post('/vault/secret', { name, value: `value of ${name}`, authorized_principals: principals });
      }
    };
    await post('/vault/principal', { name: 'fan', kind: 'plugin' });
    const perS = { without: [] as number[], with: [] as number[] };
    const results: unknown[] = [];
    // The first run with secrets, and the first run without, warm the service up.
    for (const principals of [['fan'], []]) {
      await grant(principals);
      await runFan(service.caller(), children);
    }
    for (let run = 0; run < runs; run++) {
      for (const kind of run % 2 === 0 ? (['without', 'with'] as const) : (['with', 'without'] as const)) {
        await grant(kind === 'with' ? ['fan'] : []);
        const { wholeUs, result } = await runFan(service.caller(), children);
        perS[kind].push(children / (wholeUs / 1e6));
        results.push(result);
      }
    }
    await service.stop();
    const auditedBytes = trailBytes(stage.state);
    const [without, secrets] = [percentile(perS.without, 50), percentile(perS.with, 50)];
    return {
      metrics: [
        { name: 'children_per_s_without', value: without, unit: '1/s' },
        { name: 'children_per_s_with', value: secrets, unit: '1/s' },
        { name: 'ratio', value: secrets / without, unit: '', target: atLeast(0.7) },
        { name: 'audit_bytes_per_child', value: auditedBytes / (children * (runs + 1)), unit: 'B' },
      ],
      work: results,
    };
  },
};

/** The size of the audit trail's values, without keys. */
function trailBytes(path: string): number {
  const store = openStore(path);
  let bytes = 0;
  for (const { value } of store.scan('vault_audit', {})) bytes += value.length;
  store.close();
  return bytes;
}
