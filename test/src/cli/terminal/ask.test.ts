// Questions on a terminal: what counts as an answer, and what ends the program.
import { once } from "node:events";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { createAsker } from "../../../../src/cli/terminal/terminal.ts";

/** Answers the questions one after the other, each when its prompt is there. */
const asked = (answers: readonly string[]) => {
  const input = new PassThrough();
  const output = new PassThrough({ encoding: "utf8" });
  const left = [...answers];
  let shown = "";
  output.on("data", (text: string) => {
    shown += text;
    if (/: (\p{Cc}\[\d*[A-Z])*$/u.test(text)) input.write(left.shift() ?? "");
  });
  const ask = createAsker({ input, output: Object.assign(output, { isTTY: true, columns: 80 }) });
  return { ask, input, output, shown: () => shown };
};
const choices = [
  { value: "environment", name: "in the environment" },
  { value: "file", name: "in a file" },
] as const;

test("a text is asked for until it is right, and Enter takes what is proposed", async () => {
  const { ask, shown } = asked(["four\n", " 12 \n", "\n"]);
  const problem = (text: string) => (/^\d+$/.test(text) ? null : "A number, please");
  expect(await ask.text({ message: "How many", problem })).toBe("12");
  expect(shown()).toContain("A number, please");
  expect(await ask.text({ message: "Port", initial: "8737", problem })).toBe("8737");
  expect(shown()).toContain("Port (8737): ");
});

test("a choice is a number or the beginning of a word, and Enter is the first", async () => {
  const { ask, shown } = asked(["2\n", "Fi\n", "\n", "7\n", "1\n"]);
  const answers = [];
  for (const message of ["a", "b", "c", "d"]) answers.push(await ask.choice({ message, choices }));
  expect(answers).toEqual(["file", "file", "environment", "environment"]);
  expect(shown()).toContain("  2  in a file\n");
  expect(shown()).toContain("Type a number from 1 to 2.");
});

test.each([
  ["Ctrl-C", "\u0003"],
  ["Ctrl-D", "\u0004"],
])("%s at a question ends the program", async (_, key) => {
  const { ask } = asked([key]);
  await expect(ask.text({ message: "Address" })).rejects.toMatchObject({ code: "INTERRUPTED" });
});

test("the end of input at a question ends the program", async () => {
  const { ask, input, output } = asked([]);
  const prompt = once(output, "data");
  const answer = ask.text({ message: "Address" });
  const refused = expect(answer).rejects.toMatchObject({ code: "INTERRUPTED" });
  await prompt;
  input.end();
  await refused;
});
