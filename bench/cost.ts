// The figures of cost that every bench gives: CPU over a stretch of work, memory now and at its peak.
import type { Metric } from './bench.ts';
import type { Usage } from './usage.ts';

/** What was used between two looks. With `jobs`, also the CPU time that one of them took. */
export function costMetrics(before: Usage, after: Usage, jobs?: number): Metric[] {
  const serviceMs = after.service.cpuMs - before.service.cpuMs;
  const hostMs = after.host.cpuMs - before.host.cpuMs;
  const perJob: Metric[] =
    jobs === undefined ? [] : [{ name: 'cpu_per_job_us', value: ((serviceMs + hostMs) * 1000) / jobs, unit: 'us' }];
  return [
    { name: 'cpu_service_s', value: serviceMs / 1000, unit: 's' },
    { name: 'cpu_host_s', value: hostMs / 1000, unit: 's' },
    ...perJob,
    ...memoryMetrics(after),
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
