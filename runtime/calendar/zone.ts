// Time zones. Finds, by means of Intl, the periods in which the offset of a zone from UTC stays the same.
const hour = 3_600_000;
/** Time is divided into windows of this length. The changes of the offset in a window are found when the window is first needed. */
const windowMs = 64 * 24 * hour;
/** The step of the search for changes. The search relies on at least this much time between two changes of a zone. */
const stepMs = 12 * hour;
/** The maximum number of windows that are kept for a zone. Together they cover 350 years. */
const windowsMax = 2_000;

/**
 * From `fromMs` until `toMs`, a wall clock in the zone is ahead of UTC by `offsetMs`. A period also ends where its window ends,
 * so the next period may have the same offset.
 */
export type ZonePeriod = { readonly fromMs: number; readonly toMs: number; readonly offsetMs: number };

export class Zone {
  readonly name: string;
  readonly #format: Intl.DateTimeFormat;
  readonly #windows = new Map<number, readonly ZonePeriod[]>();

  constructor(name: string) {
    this.name = name;
    this.#format = new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      hourCycle: 'h23',
      era: 'short',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  }

  periodAt(ms: number): ZonePeriod {
    const periods = this.#windowOf(Math.floor(ms / windowMs));
    return periods.findLast(({ fromMs }) => fromMs <= ms)!;
  }

  #windowOf(index: number): readonly ZonePeriod[] {
    let periods = this.#windows.get(index);
    if (!periods) {
      if (this.#windows.size >= windowsMax) this.#windows.clear();
      periods = this.#find(index * windowMs, (index + 1) * windowMs);
      this.#windows.set(index, periods);
    }
    return periods;
  }

  #find(fromMs: number, toMs: number): readonly ZonePeriod[] {
    const periods: ZonePeriod[] = [];
    let start = fromMs;
    let offsetMs = this.#offsetAt(fromMs);
    for (let at = fromMs; at < toMs; at += stepMs) {
      const after = Math.min(at + stepMs, toMs);
      const next = this.#offsetAt(after);
      if (next === offsetMs) continue;
      const change = this.#changeBetween(at, after, offsetMs);
      if (change === toMs) break;
      periods.push({ fromMs: start, toMs: change, offsetMs });
      start = change;
      offsetMs = next;
    }
    periods.push({ fromMs: start, toMs, offsetMs });
    return periods;
  }

  /** Finds the first full second at which the offset is no longer `offsetMs`. */
  #changeBetween(beforeMs: number, afterMs: number, offsetMs: number): number {
    let low = beforeMs;
    let high = afterMs;
    while (high - low > 1_000) {
      const middle = low + Math.floor((high - low) / 2_000) * 1_000;
      if (this.#offsetAt(middle) === offsetMs) low = middle;
      else high = middle;
    }
    return high;
  }

  #offsetAt(ms: number): number {
    const part: { [type: string]: string } = {};
    for (const { type, value } of this.#format.formatToParts(ms)) part[type] = value;
    const year = part['era'] === 'BC' ? 1 - Number(part['year']) : Number(part['year']);
    const wall = Date.UTC(
      year,
      Number(part['month']) - 1,
      Number(part['day']),
      Number(part['hour']),
      Number(part['minute']),
      Number(part['second']),
    );
    return wall - Math.floor(ms / 1_000) * 1_000;
  }
}

const zones = new Map<string, Zone>();

/** Returns the zone with this IANA name; undefined if Node knows no such zone. */
export function zoneNamed(name: string): Zone | undefined {
  let zone = zones.get(name);
  // Intl in newer versions of Node also accepts offsets such as `+01:00`.
  if (!zone && /^[A-Za-z]/.test(name)) {
    try {
      zone = new Zone(name);
    } catch {
      return undefined;
    }
    zones.set(name, zone);
  }
  return zone;
}
