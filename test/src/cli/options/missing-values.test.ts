// An option that swallowed the next one.
import { Command } from "commander";
import { expect, test } from "vitest";
import { refuseMissingValues } from "../../../../src/cli/options/missing-values.ts";

const parsed = (...argv: string[]) => {
  const command = new Command()
    .option("--data-dir <dir>")
    .option("--table <name...>")
    .option("--color [when]")
    .option("-j, --json");
  command.exitOverride().parse(argv, { from: "user" });
  refuseMissingValues(command);
  return command.opts();
};

test.each([
  [["--data-dir", "--json"], "--json is an option"],
  [["--data-dir", "-j"], "-j is an option"],
  [["--table", "a", "--table", "--json"], "--json is an option"],
])("%j is refused", (argv, words) => {
  expect(() => parsed(...argv)).toThrow(words);
});

test("a value that only looks like an option is one, and an option may go without a value where it need have none", () => {
  expect(parsed("--data-dir", "--other")).toEqual({ dataDir: "--other" });
  expect(parsed("--color", "--json")).toEqual({ color: true, json: true });
  expect(parsed("--color=--json")).toEqual({ color: "--json" });
  expect(parsed("--data-dir", "json")).toEqual({ dataDir: "json" });
});
