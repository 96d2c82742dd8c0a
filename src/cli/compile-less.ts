// Makes V8 optimize fewer functions in a command that ends within minutes. In a sync of 600 requests its optimizing
// compiler took a fifth of all processor time, more than the faster code saved (docs/PERFORMANCE.md).
import { setFlagsFromString } from "node:v8";

/**
 * The flag that delays optimizing to thirty times V8's default. `v8`: version of V8, whose flag has had another name since 12. V8
 * writes a line to standard error for a name that it does not know.
 */
export const compilerFlag = (v8: string): string =>
  Number.parseInt(v8, 10) < 12 ? "--interrupt-budget=2000000" : "--invocation-count-for-turbofan=90000";

/** Affects the whole process, so it is not for programs that run on: their hot code is worth optimizing. */
export const compileLess = (): void => setFlagsFromString(compilerFlag(process.versions.v8));
