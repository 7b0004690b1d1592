// The cost figures of benches: CPU over stretches of work, and memory now and at its peak.
import type { Metric } from './bench.ts';
import type { Stretch, Usage } from './usage.ts';

/** CPU over all stretches of work, in total and per job, and memory at the end of the last stretch. */
export function costMetrics(stretches: readonly Stretch[], jobs: number): Metric[] {
  const serviceMs = stretches.reduce((sum, { before, after }) => sum + after.service.cpuMs - before.service.cpuMs, 0);
  const hostMs = stretches.reduce((sum, { before, after }) => sum + after.host.cpuMs - before.host.cpuMs, 0);
  return [
    { name: 'cpu_service_s', value: serviceMs / 1000, unit: 's' },
    { name: 'cpu_host_s', value: hostMs / 1000, unit: 's' },
    { name: 'cpu_per_job_us', value: ((serviceMs + hostMs) * 1000) / jobs, unit: 'us' },
    ...memoryMetrics(stretches.at(-1)!.after),
  ];
}

export function memoryMetrics({ service, host }: Usage): Metric[] {
  return [
    { name: 'rss_service_mb', value: service.rssMb, unit: 'MB' },
    { name: 'rss_host_mb', value: host.rssMb, unit: 'MB' },
    { name: 'rss_peak_service_mb', value: service.rssPeakMb, unit: 'MB' },
    { name: 'rss_peak_host_mb', value: host.rssPeakMb, unit: 'MB' },
  ];
}

/** The memory of service and plugin hosts together. */
export function rssMb({ service, host }: Usage): number {
  return service.rssMb + host.rssMb;
}
