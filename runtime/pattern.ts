// Regular expressions that match in linear time, for text that comes from outside. The only file that imports re2js.
import { RE2JS } from 're2js';

export const patternCharsMax = 1000;
/** The maximum number of instructions of a compiled pattern. */
export const patternProgramMax = 5000;

/**
 * The maximum number of steps that all patterns of one condition may take together, because matching blocks the ledger thread. The steps of
 * a match are at most the characters of the text times the instructions of the pattern. `matchStepsMax` steps take up to 25 ms.
 */
export const matchStepsMax = 5e5;
/** The maximum number of steps that all patterns of a schema may take together to check one value. */
export const checkStepsMax = 4e7;
/** A smaller pattern of a schema counts as having this many instructions, because it takes no less time for each character. */
const patternSizeMin = 20;

export type Pattern = {
  /** The maximum number of steps that matching this text takes. */
  steps(text: string): number;
  /** Whether the pattern matches anywhere in the text. */
  test(text: string): boolean;
};

/** Compiles a pattern in RE2 syntax. Throws an Error with the reason if the pattern is invalid or too large. */
export function compilePattern(source: string): Pattern {
  if (source.length > patternCharsMax) throw new Error(`longer than ${patternCharsMax} characters`);
  const compiled = RE2JS.compile(source);
  if (compiled.programSize() > patternProgramMax) throw new Error('too large when its repetitions are expanded');
  const size = compiled.programSize();
  return { steps: text => text.length * size, test: text => compiled.test(text) };
}

/** The problem of a pattern; undefined if the pattern is usable. */
export function patternProblem(source: string): string | undefined {
  try {
    compilePattern(source);
    return undefined;
  } catch (error) {
    return (error as Error).message.replace('error parsing regexp: ', '').replaceAll('`', '"');
  }
}

/** Thrown if checking one value against a schema could take too many steps. */
export class TooManySteps extends Error {
  /** The keyword of the schema that would take the steps. */
  readonly keyword: string;

  constructor(keyword: string, message: string) {
    super(message);
    this.keyword = keyword;
  }
}

let stepsLeft = 0;

/** Allows `checkStepsMax` steps for the next check of a value. Must be called before each check. */
export function allowSteps(): void {
  stepsLeft = checkStepsMax;
}

/**
 * Compiles the patterns of JSON Schemas. They have JavaScript's syntax; a pattern that cannot be matched in linear time is not supported.
 * Throws an Error if a pattern cannot be compiled; `test` throws TooManySteps.
 */
export const schemaPatterns = Object.assign(
  (source: string, flags: string) => {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(source));
    const size = Math.max(compiled.programSize(), patternSizeMin);
    const test = (text: string) => {
      stepsLeft -= text.length * size;
      if (stepsLeft < 0) throw new TooManySteps('pattern', 'has too much text to match against its patterns');
      return compiled.test(text);
    };
    // The schema compiler caches compiled patterns by this text. The prefix distinguishes them from the patterns of another engine.
    return { test, toString: () => `re2:${flags}:${source}` };
  },
  { code: 're2' },
);
