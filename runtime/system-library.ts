// Calls functions of the C library that Node does not offer. The only file that uses koffi, which is loaded at the first call.
import { createRequire } from 'node:module';

type Koffi = typeof import('koffi');

let loaded: { readonly koffi: Koffi; readonly system: ReturnType<Koffi['load']> } | null = null;

/**
 * Returns a function that calls the C function with this prototype. The returned function throws if the C function returns a
 * negative number, which means failure.
 */
export function systemCall(prototype: string): (...values: readonly number[]) => number {
  const { koffi, system } = load();
  const call = system.func(prototype);
  return (...values) => {
    const result = call(...values) as number;
    if (result < 0) throw new Error(`${/\w+(?=\()/.exec(prototype)?.[0]} failed with errno ${koffi.errno()}`);
    return result;
  };
}

/**
 * Returns a function that calls the C function with this prototype on another thread, and resolves with the number that the C function
 * returns. A 64-bit parameter of the prototype takes a safe integer.
 */
export function systemCallAside(prototype: string): (...values: readonly number[]) => Promise<number> {
  const call = load().system.func(prototype);
  return (...values) =>
    new Promise((resolve, reject) =>
      call.async(...values, (error: Error | null, result: number) =>
        error === null ? resolve(result) : reject(error),
      ),
    );
}

function load(): NonNullable<typeof loaded> {
  if (loaded === null) {
    const koffi = createRequire(import.meta.url)('koffi') as Koffi;
    loaded = { koffi, system: koffi.load(null) };
  }
  return loaded;
}
