// Reads what a scrape returns, as strictly as the two formats are defined, and asks Debian's promtool where it is installed.
import { spawnSync } from 'node:child_process';
import type { Gateway } from '../../service/gateway/gateway.ts';

export const hasPromtool = spawnSync('promtool', ['--version'], { stdio: 'ignore' }).status === 0;
if (!hasPromtool) console.log('SKIPPED: what needs promtool (Debian package prometheus), which is not installed');

/** What promtool complains about; empty: nothing. */
export function promtool(words: readonly string[], input = ''): string {
  const { status, stdout, stderr } = spawnSync('promtool', words, { input, encoding: 'utf8' });
  const complaints = stderr.trim();
  return status === 0 ? complaints : `${complaints}\n${stdout}`.trim() || `exit status ${status}`;
}

export type Exemplar = { readonly jobId: string; readonly value: number };
export type Series = {
  readonly name: string;
  readonly labels: { readonly [label: string]: string };
  readonly value: number;
  readonly exemplar: Exemplar | null;
};

export class Scrape {
  readonly text: string;
  readonly series: readonly Series[];
  /** Types by the name of the family in the text. */
  readonly types = new Map<string, string>();
  readonly help = new Map<string, string>();

  constructor(text: string) {
    this.text = text;
    const series: Series[] = [];
    for (const line of text.split('\n').slice(0, -1)) {
      const [, word, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? [];
      if (word === 'HELP') this.help.set(name, rest);
      else if (word === 'TYPE') this.types.set(name, rest);
      else if (line !== '# EOF') series.push(seriesIn(line));
    }
    this.series = series;
    const keys = series.map(({ name, labels }) => `${name} ${JSON.stringify(labels)}`);
    const twice = keys.filter((key, place) => keys.indexOf(key) !== place);
    if (twice.length > 0) throw new Error(`these series are there twice: ${twice.join(', ')}`);
  }

  /** The series of this name that have these labels, perhaps among others. */
  all(name: string, labels: Series['labels'] = {}): Series[] {
    const wanted = Object.entries(labels);
    return this.series.filter(each => each.name === name && wanted.every(([label, v]) => each.labels[label] === v));
  }

  /** The sum of these series. */
  sum(name: string, labels?: Series['labels']): number {
    return this.all(name, labels).reduce((sum, { value }) => sum + value, 0);
  }

  get names(): ReadonlySet<string> {
    return new Set(this.series.map(({ name }) => name));
  }
}

const quoted = '"(?:[^"\\\\\\n]|\\\\["\\\\n])*"';
const number = '[+-]?(?:\\d+(?:\\.\\d+)?(?:e[+-]?\\d+)?|Inf|NaN)';
const exemplar = ` # \\{job_id="([0-9a-f-]{36})"\\} (${number}) \\d+\\.\\d{3}`;
const line = new RegExp(`^([a-zA-Z_:][\\w:]*)(?:\\{((?:\\w+=${quoted},?)*)\\})? (${number})(?:${exemplar})?$`);

function seriesIn(text: string): Series {
  const [, name, labels = '', value, jobId, exemplarValue] = line.exec(text) ?? [];
  if (name === undefined) throw new Error(`not a line of metrics: ${text}`);
  const pairs = [...labels.matchAll(new RegExp(`(\\w+)=(${quoted})`, 'g'))].map(([, label, written]) => [
    label!,
    JSON.parse(written!) as string,
  ]);
  return {
    name,
    labels: Object.fromEntries(pairs),
    value: Number(value!.replace('Inf', 'Infinity')),
    exemplar: jobId === undefined ? null : { jobId, value: Number(exemplarValue) },
  };
}

export async function scrape(gateway: Gateway, headers: { readonly [name: string]: string } = {}): Promise<Scrape> {
  const { status, body } = await gateway.call('GET', '/metrics', undefined, { headers });
  if (status !== 200) throw new Error(`/metrics: ${status} ${JSON.stringify(body)}`);
  return new Scrape(String(body['text']));
}
