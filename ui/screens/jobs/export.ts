// Saves the jobs that match as NDJSON, a job a line, as the service sends them.
import { signal } from '@preact/signals';
import { act } from '../../core/actions.ts';
import { requestText } from '../../core/api.ts';
import { count, counted } from '../../core/format.ts';
import { queryText } from '../../core/router.ts';
import type { JobFilters } from './filters.ts';
import type { JobPage } from './job-row.ts';

/** The maximum number of jobs in an export: the newest that match. */
export const exportMax = 100_000;
const exportPageRows = 200;

/** How many jobs have been fetched; null: no export is under way. */
export const exported = signal<number | null>(null);
let running: AbortController | null = null;

export function stopExport(): void {
  running?.abort();
}

export async function exportJobs(filters: JobFilters): Promise<void> {
  running = new AbortController();
  const { signal } = running;
  exported.value = 0;
  await act('Export', async () => {
    const lines: string[] = [];
    let cursor: string | undefined;
    do {
      const path = `/jobs${queryText({ ...filters, limit: String(exportPageRows), cursor })}`;
      const page = await pageOf(path, signal);
      if (page === null) return 'It was stopped; nothing was saved.';
      lines.push(...page.jobs.map(job => `${JSON.stringify(job)}\n`));
      cursor = page.next_cursor;
      exported.value = lines.length;
    } while (cursor !== undefined && lines.length < exportMax);
    save(new Blob(lines, { type: 'application/x-ndjson' }), 'jobs.ndjson');
    return `${counted(lines.length, 'job')}${cursor === undefined ? '' : `, the newest; an export has at most ${count(exportMax)}`}.`;
  });
  exported.value = null;
}

/** Null: the export was stopped. */
async function pageOf(path: string, signal: AbortSignal): Promise<JobPage | null> {
  try {
    return JSON.parse(await requestText(path, signal));
  } catch (error) {
    if (signal.aborted) return null;
    throw error;
  }
}

function save(blob: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
