// Questions on the terminal, with @inquirer/prompts. Ctrl-C at a question ends the program as elsewhere.
import { input, select } from "@inquirer/prompts";
import { DuckmirrorError } from "../../core/errors.ts";
import type { Asker } from "./terminal.ts";

const answered = async <T>(answer: Promise<T>): Promise<T> => {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof Error && /^(ExitPrompt|AbortPrompt)Error$/.test(error.name)) {
      throw new DuckmirrorError("INTERRUPTED", {}, { cause: error });
    }
    throw error;
  }
};

/** Asks on stderr, so that stdout contains results only. */
export const createAsker = (io: {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
}): Asker => ({
  text: ({ message, initial, problem }) =>
    answered(
      input(
        {
          message,
          ...(initial === undefined ? {} : { default: initial }),
          validate: (answer) => problem?.(answer) ?? true,
        },
        io,
      ),
    ),
  choice: ({ message, choices }) => answered(select({ message, choices: [...choices] }, io)),
});
