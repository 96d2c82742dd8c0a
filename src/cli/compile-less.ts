// Makes V8 optimize fewer functions in a command that ends within minutes. In a sync of 600 requests its optimizing
// compiler took a fifth of all processor time, more than the faster code saved (docs/PERFORMANCE.md).
import { setFlagsFromString } from "node:v8";

/**
 * The flags that delay optimizing to thirty times V8's default: of JavaScript, and of undici's parser of HTTP, which is WebAssembly and
 * took 80 ms after a few responses. `v8`: version of V8, which has had another name for the first, and another default of the second,
 * since 12. V8 writes a line to standard error for a name that it does not know.
 */
export const compilerFlags = (v8: string): readonly string[] =>
  Number.parseInt(v8, 10) < 12
    ? ["--interrupt-budget=2000000", "--wasm-tiering-budget=54000000"]
    : ["--invocation-count-for-turbofan=90000", "--wasm-tiering-budget=390000000"];

/** Affects the whole process, so it is not for programs that run on: their hot code is worth optimizing. */
export const compileLess = (): void => {
  for (const flag of compilerFlags(process.versions.v8)) setFlagsFromString(flag);
};
