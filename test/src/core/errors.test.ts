// The table of errors: complete, without placeholders left over, and the same as docs/ERRORS.md and the settings schema.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { settingsJsonSchema } from "../../../src/core/config/settings.ts";
import { DuckmirrorError, ERRORS, type ErrorCode, EXIT, isCode, withHint } from "../../../src/core/errors.ts";
import { renderErrorsDocument } from "../../support/errors-document.ts";

const root = new URL("../../../", import.meta.url);
const codes = Object.keys(ERRORS).filter((code): code is ErrorCode => Object.hasOwn(ERRORS, code));

describe("documents generated from tables", () => {
  test("docs/ERRORS.md says what the tables say", async () => {
    await expect(renderErrorsDocument()).toMatchFileSnapshot(new URL("docs/ERRORS.md", root).pathname);
  });

  test("docs/duckmirror.schema.json is the schema of duckmirror.yaml", () => {
    const stored: unknown = JSON.parse(readFileSync(new URL("docs/duckmirror.schema.json", root), "utf8"));
    expect(stored).toEqual(JSON.parse(JSON.stringify(settingsJsonSchema())));
  });

  test("docs/ERRORS.md explains every exit code that exists", () => {
    const text = readFileSync(new URL("docs/ERRORS.md", root), "utf8");
    for (const code of Object.values(EXIT)) expect(text).toMatch(new RegExp(`^\\| ${code} +\\| \\w`, "m"));
  });
});

test("one thing is not called many", () => {
  expect(new DuckmirrorError("BUDGET_SPENT", { allowance: 1 }).message).toContain("allowance of 1 credit.");
  expect(new DuckmirrorError("BUDGET_SPENT", { allowance: 2500 }).message).toContain("allowance of 2,500 credits.");
  // A number in braces before a plural: `{rows} rows` reads wrong for one.
  for (const { message } of Object.values(ERRORS))
    expect(message).not.toMatch(/\} (rows|credits|requests|places|bytes|changes)\b/);
});

describe.each(codes)("%s", (code) => {
  const names = [...`${ERRORS[code].message} ${ERRORS[code].hint}`.matchAll(/\{(\w+)(?::[\w ]+)?\}/g)].map(
    ([, name = ""]) => name,
  );

  test("fills its message and hint, and ends with its exit code", () => {
    const error = new DuckmirrorError(code, Object.fromEntries(names.map((name) => [name, `<${name}>`])));
    expect(`${error.message} ${error.hint}`).not.toMatch(/[{}]/);
    for (const name of names) expect(`${error.message} ${error.hint}`).toContain(`<${name}>`);
    expect(error.exitCode).toBe(ERRORS[code].exit);
    expect(isCode(error, code)).toBe(true);
  });

  test("says what to do in a whole sentence", () => {
    expect(ERRORS[code].hint).toMatch(/^[A-Z`].*[.]$/);
  });
});

test("a value from outside that looks like a placeholder is shown and not filled", () => {
  expect(new DuckmirrorError("QUERY_FAILED", { detail: "near {detail} $& $1" }).message).toContain(
    "near {detail} $& $1",
  );
});

test.each([
  ["cannot be read: no such file", "cannot be read: no such file. Check it."],
  ["It is too late.", "It is too late. Check it."],
  ["Is it late?", "Is it late? Check it."],
  ["(It is late.)", "(It is late.) Check it."],
])("message and hint are sentences of one line: %s", (message, line) => {
  expect(withHint({ message, hint: "Check it." })).toBe(line);
  expect(withHint({ message: "It ended.", hint: "" })).toBe("It ended.");
});
