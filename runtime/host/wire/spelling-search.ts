// Finds spellings of secrets (spellings.ts) in texts. A search takes about as long with thousands of spellings as with a few.

/** A spelling, and the text that replaces it. */
export type Form = { readonly text: string; readonly mark: string };
/** An occurrence of a form in a text, from `at` to `end`. Overlapping occurrences of one form are a single hit. */
export type Hit = { readonly at: number; end: number; readonly form: Form };

/** A form with the position of its key: the form may occur in a text where the text has this key. */
type Keyed = { readonly form: Form; readonly keyAt: number };

/** Up to this number of forms, searching for them one by one takes less time. */
const oneByOneMax = 32;
/** The number of characters of a key. Shorter forms are always searched for one by one. */
const keyChars = 8;
/** The filter has at least this many entries for each form, up to a limit. */
const filterPerForm = 64;
const filterBitsMax = 22;

export class SpellingSearch {
  readonly #oneByOne: readonly Form[];
  readonly #keyed = new Map<number, Keyed[]>();
  /** Has a 1 at the lower bits of each key: most positions of a text are not looked up in the map. */
  readonly #filter: Uint8Array;

  constructor(forms: readonly Form[]) {
    this.#filter = new Uint8Array(
      2 ** Math.min(filterBitsMax, Math.ceil(Math.log2(filterPerForm * (forms.length + 1)))),
    );
    const isKeyed = ({ text }: Form) => forms.length > oneByOneMax && text.length >= keyChars;
    this.#oneByOne = forms.filter(form => !isKeyed(form));
    for (const form of forms) if (isKeyed(form)) this.#add(form);
  }

  /** Of three possible keys, takes the one that the fewest other forms have: many lines begin with the same spaces. */
  #add(form: Form): void {
    const lastAt = form.text.length - keyChars;
    let best: { readonly key: number; readonly keyAt: number; readonly others: number } | null = null;
    for (const keyAt of [0, lastAt >> 1, lastAt]) {
      const key = keyOf(form.text, keyAt);
      const others = this.#keyed.get(key)?.length ?? 0;
      if (best === null || others < best.others) best = { key, keyAt, others };
      if (others === 0) break;
    }
    const { key, keyAt } = best!;
    this.#filter[key & (this.#filter.length - 1)] = 1;
    const keyed = this.#keyed.get(key);
    if (keyed === undefined) this.#keyed.set(key, [{ form, keyAt }]);
    else keyed.push({ form, keyAt });
  }

  /** The occurrences of all forms in the text, in no particular order. Overlapping occurrences of one form are merged. */
  hits(text: string): Hit[] {
    const hits: Hit[] = [];
    const last = new Map<Form, Hit>();
    for (const form of this.#oneByOne)
      for (let at = text.indexOf(form.text); at >= 0; at = text.indexOf(form.text, at + 1))
        addHit(form, at, last, hits);
    if (this.#keyed.size === 0) return hits;
    const filter = this.#filter;
    const lower = filter.length - 1;
    let key = 0;
    for (let at = 0; at < text.length; at++) {
      key = withNext(key, text.charCodeAt(at));
      if (filter[key & lower] === 0) continue;
      const keyed = this.#keyed.get(key);
      if (keyed === undefined) continue;
      for (const { form, keyAt } of keyed) {
        const formAt = at - keyChars + 1 - keyAt;
        if (formAt >= 0 && text.startsWith(form.text, formAt)) addHit(form, formAt, last, hits);
      }
    }
    return hits;
  }
}

function addHit(form: Form, at: number, last: Map<Form, Hit>, hits: Hit[]): void {
  const end = at + form.text.length;
  const before = last.get(form);
  if (before !== undefined && at < before.end) before.end = end;
  else {
    const hit = { at, end, form };
    last.set(form, hit);
    hits.push(hit);
  }
}

function keyOf(text: string, from: number): number {
  let key = 0;
  for (let at = from; at < from + keyChars; at++) key = withNext(key, text.charCodeAt(at));
  return key;
}

/** The key of the last `keyChars` characters: each character shifts the older ones by four of the 32 bits. */
function withNext(key: number, code: number): number {
  return (key << 4) ^ code;
}
