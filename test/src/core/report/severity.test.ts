// Which failures need a person, and which the next sync mends by itself.
import { expect, test } from "vitest";
import { DuckmirrorError, ERRORS, type ErrorCode, EXIT } from "../../../../src/core/errors.ts";
import { isTakenAway, levelOf, levelOfCode } from "../../../../src/core/report/severity.ts";

const levelsOf = (exit: number, but: readonly ErrorCode[] = []) =>
  Object.entries(ERRORS)
    .filter(([code, row]) => row.exit === exit && !but.some((other) => other === code))
    .map(([code]) => [code, levelOfCode(code)]);

test("whatever ends a sync because credits or time are spent is a warning", () => {
  // WAIT_SPENT ends the wait of a command, not a sync.
  for (const [code, level] of levelsOf(EXIT.budget, ["WAIT_SPENT"])) expect([code, level]).toEqual([code, "warn"]);
});

test("what a person must set right is an error", () => {
  for (const exit of [EXIT.usage, EXIT.credentials, EXIT.unexpected])
    for (const [code, level] of levelsOf(exit, ["FENCED"])) expect([code, level]).toEqual([code, "error"]);
});

test("a job that another worker has by now is a warning, any other error without a code an error", () => {
  const gone = Object.assign(new Error("Missing lock"), { code: -2 });
  expect([isTakenAway(gone), levelOf(gone)]).toEqual([true, "warn"]);
  const other = Object.assign(new Error("x"), { code: -3 });
  expect([isTakenAway(other), levelOf(other), levelOf("x")]).toEqual([false, "error", "error"]);
  expect(levelOf(new DuckmirrorError("WRITER_BUSY", { dir: "d" }))).toBe("warn");
});
