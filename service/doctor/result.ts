// The result of one of the doctor's checks.
export type CheckResult = { readonly passed: boolean; readonly detail: string };

export function passed(detail: string): CheckResult {
  return { passed: true, detail };
}

export function failed(detail: string): CheckResult {
  return { passed: false, detail };
}
