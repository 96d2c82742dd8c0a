// A failure as others than this machine's owner see it: no way out of the program shows a path of the disk.
import fc from "fast-check";
import { expect, test } from "vitest";
import { DuckmirrorError, ERRORS, type ErrorCode } from "../../../../src/core/errors.ts";
import { problemOf } from "../../../../src/core/report/problem.ts";
import { withoutPaths } from "../../../../src/core/text/shown-text.ts";
import { failureOf } from "../../../../src/mcp/backend.ts";
import { failureToKeep } from "../../../../src/queue/requests/stored-failures.ts";
import { errorAnswer } from "../../../../src/server/http/refusals.ts";

const isCode = (name: string): name is ErrorCode => Object.hasOwn(ERRORS, name);
const CODES = Object.keys(ERRORS).filter(isCode);
const FOLDER = "/srv/secret place/customer-7";
const FILE = `${FOLDER}/warehouse.duckdb`;

/** Texts that the system and DuckDB write. */
const DETAILS = [
  FILE,
  `EACCES: permission denied, open '${FILE}'`,
  `ENOENT: no such file or directory, rename '${FOLDER}/state/a.new' -> '${FILE}'`,
  `IO Error: Could not write file "${FILE}": No space left on device`,
  "it has the WAL /srv/secret/customer-7/warehouse.duckdb.wal beside it (file:///srv/secret/customer-7/x), or none",
  "/srv/secret/customer-7/keys.json: unexpected token",
];

/** Everything that leaves the server, or is kept where others read it. */
const waysOut = (error: unknown): readonly string[] => [
  JSON.stringify(problemOf(error)),
  JSON.stringify(errorAnswer(error).body),
  JSON.stringify(failureOf(error)),
  failureToKeep(error, { scrub: (text) => text }).message,
];

test("no error shows a folder of this machine to others, whatever part of it holds the path", () => {
  for (const code of CODES) {
    const names = [...`${ERRORS[code].message}${ERRORS[code].hint}`.matchAll(/\{(\w+)/g)].map(([, name = ""]) => name);
    for (const detail of DETAILS) {
      const error = new DuckmirrorError(code, Object.fromEntries(names.map((name) => [name, detail])));
      for (const text of waysOut(error)) expect(text, code).not.toMatch(/srv|secret|customer/);
    }
  }
});

test("a failure without a code shows no folder either", () => {
  for (const detail of DETAILS) {
    for (const text of waysOut(new Error(detail))) expect(text).not.toMatch(/srv|secret|customer/);
  }
});

test("the name of the file stays, and what a message says of its own", () => {
  const { message, hint } = problemOf(new DuckmirrorError("SNAPSHOT_DAMAGED", { file: FILE, detail: "it is cut off" }));
  expect([message, hint]).toEqual([
    "The snapshot …/warehouse.duckdb cannot be read: it is cut off",
    ERRORS.SNAPSHOT_DAMAGED.hint,
  ]);
  for (const code of CODES) expect(problemOf(new DuckmirrorError(code)).hint).toBe(new DuckmirrorError(code).hint);
});

test.each([
  "GET /v1/companies/{companyId}/filings answered with 502",
  "s3://bucket/folder/object and https://api.example/v1/accounts",
  'Parser Error: syntax error at or near "/"\nLINE 1: SELECT a/b/c, 1 / 2 /* a / b */',
  "redis://user@host:6379/0, 1/2/2026, text/html; and/or",
  "`GET /snapshots` lists what can be read",
])("what is no path stays as it is: %s", (text) => {
  expect(withoutPaths(text)).toBe(text);
});

test("any path of two parts or more is cut, quoted or not", () => {
  const part = fc.stringMatching(/^[A-Za-z0-9_.@+-]{1,20}$/).filter((name) => !/^\.+$/.test(name) && name !== "v1");
  fc.assert(
    fc.property(
      part,
      fc.array(part, { minLength: 1, maxLength: 5 }),
      fc.constantFrom("", "'", '"'),
      (first, more, quote) => {
        const path = `/${[first, ...more].join("/")}`;
        expect(withoutPaths(`open ${quote}${path}${quote}: failed`)).toBe(
          `open ${quote}…/${more.at(-1)}${quote}: failed`,
        );
      },
    ),
  );
});
