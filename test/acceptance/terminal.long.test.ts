// What the built program shows on a terminal: nothing that the service sends can steer it.
import { execFile, execFileSync } from "node:child_process";
import { beforeAll, expect, inject, test } from "vitest";
import { aSandbox, FAST, syncEnv, syncWell } from "./built-cli.ts";
import { tempFolder } from "./temp-folder.ts";

const ESCAPE = "\u001b";
/** Sets the window's title, clears the screen (in two ways), rings, deletes, and overwrites the line. */
const EVIL = "\u001b]0;owned\u0007\u001b[2J\u009b2J\u0008\u007f\u0000\rfake";
/** The colours and line ends that the program itself writes. */
const ITS_OWN = new RegExp(`${ESCAPE}\\[(?:[\\d;]*m|\\?25[lh]|\\d*[AGJK])|\\r+\\n`, "g");

const dataDir = tempFolder();
const sandbox = await aSandbox({ accounts: 3 });
const env = { ...syncEnv(sandbox, dataDir), ...FAST };
let isDown = false;
beforeAll(async () => {
  execFileSync("script", ["--version"]);
  sandbox.intercept(async (request, next) => {
    if (isDown) {
      const body = `<html><head><title>${EVIL}</title></head><body>${EVIL}</body></html>`;
      return { status: 400, headers: { "content-type": "text/html", "x-request-id": "a" }, body };
    }
    const response = await next();
    if (!request.path.startsWith("/v1/accounts")) return response;
    return { ...response, body: response.body.replaceAll('"name":"', `"name":"${JSON.stringify(EVIL).slice(1, -1)}`) };
  });
  await syncWell(sandbox, dataDir, ["accounts"], FAST);
});

const quoted = (words: readonly string[]) => words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");

/** Runs the program with a pseudo terminal as its output; answers with everything that it showed. */
const onTerminal = (...argv: readonly string[]): Promise<string> => {
  const command = quoted([process.execPath, inject("builtCli"), ...argv]);
  const settings = { PATH: process.env.PATH, TERM: "xterm", COLUMNS: "200", ...env };
  return new Promise((resolve) => {
    // A command that ends with an error is one that shows something.
    execFile("script", ["-qec", command, "/dev/null"], { env: settings, maxBuffer: 1 << 26 }, (_error, out) =>
      resolve(out),
    ).stdin?.end();
  });
};

const steering = (text: string): readonly string[] => text.replace(ITS_OWN, "").match(/(?![\t\n])\p{Cc}/gu) ?? [];

test.each(["table", "csv", "json", "ndjson"])("values of records as %s", async (format) => {
  const shown = await onTerminal("query", "SELECT name FROM accounts", "--format", format);
  // Made visible: on a terminal, not in a file.
  expect(shown).toContain("\\u001b]0;owned");
  expect(steering(shown)).toEqual([]);
});

test("errors that quote values, and names of columns", async () => {
  const shown = await onTerminal("query", `SELECT error(name || '${EVIL.replaceAll("\u0000", "")}') FROM accounts`);
  expect(shown).toContain("owned");
  expect(steering(shown)).toEqual([]);
  expect(steering(await onTerminal("query", `SELECT 1 AS "${EVIL.replaceAll("\u0000", "")}"`))).toEqual([]);
});

test.each([
  ["check", ["check", "--verbose"]],
  ["sync", ["sync", "accounts", "--full", "--verbose"]],
  ["sync for machines", ["sync", "accounts", "--full", "--verbose", "--log-format", "json"]],
  ["plan", ["plan"]],
  ["status", ["status"]],
])("%s, where the service answers with HTML: its title, messages, log lines", async (_, argv) => {
  isDown = true;
  const shown = await onTerminal(...argv).finally(() => {
    isDown = false;
  });
  expect(shown.length).toBeGreaterThan(20);
  expect(steering(shown)).toEqual([]);
  if (argv[0] === "sync") expect(shown).toContain("owned");
});
