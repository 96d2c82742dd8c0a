// Interface to the terminal for commands. main.ts connects it to the process, tests to arrays.
import type { Writable } from "node:stream";
import type pc from "picocolors";
import { DuckmirrorError } from "../../core/errors.ts";

type Colors = ReturnType<typeof pc.createColors>;

export interface Terminal {
  /** Writes results. Resolves when there is room for more, so that a slow reader slows the writer. */
  out(text: string): Promise<void>;
  /** Writes logs, progress and errors. */
  err(text: string): void;
  /** Complete content of stdin. */
  readInput(): Promise<string>;
  readonly isTty: { readonly in: boolean; readonly out: boolean; readonly err: boolean };
  /** Width of the terminal; without one, wide enough not to cut piped output. */
  readonly columns: number;
  /** The same for stderr. */
  readonly errColumns: number;
  /** Colours for stdout and stderr; they write nothing where colour is off. */
  readonly outColours: Colors;
  readonly errColours: Colors;
  /** stderr itself, for lines that are redrawn. */
  readonly errStream: Writable;
}

/** Questions to a person, asked only when stdin and stderr are terminals. */
export interface Asker {
  text(question: {
    readonly message: string;
    readonly initial?: string;
    /** The problem with an answer, or null. */
    readonly problem?: (answer: string) => string | null;
  }): Promise<string>;
  choice<T extends string>(question: {
    readonly message: string;
    readonly choices: readonly { readonly value: T; readonly name: string }[];
  }): Promise<T>;
}

/** True to write colour to a stream: NO_COLOR and FORCE_COLOR (no-color.org), else a capable terminal. */
export const wantsColour = (env: Readonly<Record<string, string | undefined>>, isTty: boolean): boolean => {
  if (env.NO_COLOR) return false;
  if (env.FORCE_COLOR && env.FORCE_COLOR !== "0") return true;
  return isTty && env.TERM !== "dumb";
};

/** Width for output that is not a terminal: nothing is cut. */
const PIPE_COLUMNS = 10_000;

/** Width of tables: COLUMNS, else the terminal's; `columns` is null without a terminal. */
export const outputWidth = (env: Readonly<Record<string, string | undefined>>, columns: number | null): number => {
  const asked = Number(env.COLUMNS);
  return Number.isInteger(asked) && asked > 0 ? asked : (columns ?? PIPE_COLUMNS);
};

// Questions on the terminal. Ctrl-C, Ctrl-D and the end of input at a question end the program as Ctrl-C does elsewhere.

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
