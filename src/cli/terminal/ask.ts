// Questions on the terminal. Ctrl-C, Ctrl-D and the end of input at a question end the program as Ctrl-C does elsewhere.
import { DuckmirrorError } from "../../core/errors.ts";
import type { Asker } from "./terminal.ts";

/** Asks on stderr, so that stdout contains results only. */
export const createAsker = (io: {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
}): Asker => {
  const line = async (prompt: string): Promise<string> => {
    const { createInterface } = await import("node:readline/promises");
    const reader = createInterface(io);
    const gone = new AbortController();
    for (const event of ["SIGINT", "close"] as const) reader.once(event, () => gone.abort());
    try {
      return (await reader.question(prompt, { signal: gone.signal })).trim();
    } catch (error) {
      io.output.write("\n");
      throw new DuckmirrorError("INTERRUPTED", {}, { cause: error });
    } finally {
      reader.close();
    }
  };
  /** Asks until the answer means something. */
  const answer = async <T>(prompt: string, read: (text: string) => { value: T } | { problem: string }): Promise<T> => {
    for (;;) {
      const found = read(await line(prompt));
      if ("value" in found) return found.value;
      io.output.write(`  ${found.problem}\n`);
    }
  };
  return {
    text: ({ message, initial, problem }) =>
      answer(`${message}${initial === undefined ? "" : ` (${initial})`}: `, (text) => {
        const value = text === "" ? (initial ?? "") : text;
        const wrong = problem?.(value) ?? null;
        return wrong === null ? { value } : { problem: wrong };
      }),
    choice: ({ message, choices }) => {
      const listed = choices.map(({ name }, at) => `  ${at + 1}  ${name}\n`).join("");
      return answer(`${message}\n${listed}Number, or Enter for 1: `, (text) => {
        const typed = text.toLowerCase();
        const at = choices.findIndex(({ value }, index) => typed === String(index + 1) || value.startsWith(typed));
        const chosen = choices[at];
        return chosen ? { value: chosen.value } : { problem: `Type a number from 1 to ${choices.length}.` };
      });
    },
  };
};
