// The log never carries a secret, whatever is logged and however.
import { describe, expect, test } from "vitest";
import { createLogger } from "../../../src/core/log.ts";
import { createScrubber } from "../../../src/core/secret.ts";

const token = "eyJhbGciOiJIUzI1NiJ9.eyJvcmciOiJvcmdfMSJ9.c2lnbmF0dXJl+/x";

const logged = (format: "pretty" | "json", level: "info" | "error" = "info") => {
  const lines: string[] = [];
  const scrubber = createScrubber();
  scrubber.hide(token);
  const target = { write: (text: string) => void lines.push(text) };
  return { lines, log: createLogger({ level, format, colour: false, scrubber, target }) };
};

describe.each(["pretty", "json"] as const)("%s", (format) => {
  test("no form of the token gets into a line: message, field, array, error, stack, cause, URL, child, Base64", () => {
    const { lines, log } = logged(format);
    const basic = Buffer.from(`user:${token}`).toString("base64");
    log.info(`sent ${token}`);
    log.info({ headers: { authorization: `Bearer ${token}` } }, "request");
    log.info({ deep: [{ list: [token] }] }, "list");
    log.error(new Error(`refused ${token}`, { cause: new Error(token) }), "failed");
    log.info({ url: `https://x/?t=${encodeURIComponent(token)}` }, "url");
    log.child({ session: token }).info("child");
    log.info({ basic }, "basic");
    const text = lines.join("");
    expect(text).not.toContain("eyJvcmciOiJvcmdfMSJ9");
    expect(text).not.toContain(basic.slice(10, -6));
    expect(text.split("[hidden]").length).toBeGreaterThan(7);
  });

  test("lines below the level are not written", () => {
    const { lines, log } = logged(format, "error");
    log.info("chatter");
    expect(lines).toEqual([]);
  });
});

test("a JSON line is one object with an ISO time", () => {
  const { lines, log } = logged("json");
  log.info({ stream: "accounts", waitMs: 5 }, "page loaded");
  const parsed: unknown = JSON.parse(lines[0] ?? "");
  expect(parsed).toMatchObject({ level: 30, stream: "accounts", waitMs: 5, msg: "page loaded" });
  expect(parsed).toHaveProperty("time", expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/));
});

test("a pretty line is one line for people, without escape codes when colour is off", () => {
  const { lines, log } = logged("pretty");
  log.warn({ stream: "accounts" }, "slow");
  expect(lines[0]).toMatch(/WARN.*: slow \{"stream":"accounts"\}\n$/);
  expect(lines[0]).not.toContain("\u001b");
});

test("a pretty line steers no terminal, and an error has its stack and causes below it", () => {
  const { lines, log } = logged("pretty");
  log.info({ name: "a\u001b[2Jb" }, "c\u001b]0;d\rover \\d");
  log.error(new Error("outer", { cause: new Error("inner") }), "failed");
  expect(lines[0]).toMatch(/^\[\d\d:\d\d:\d\d\] INFO: c\\u001b\]0;d\\u000dover \\d \{"name":"a\\u001b\[2Jb"\}\n$/);
  expect(lines[1]).toMatch(/ERROR: failed\n {4}Error: outer\n[\s\S]*\n {4}caused by: Error: inner\n/);
});

test("whatever is given as an error, a pretty line is written", () => {
  const { lines, log } = logged("pretty");
  log.error({ err: "text" }, "failed");
  log.error({ err: { code: "ECONNRESET" } }, "failed");
  expect(lines).toEqual([expect.stringMatching(/failed.*\n$|text.*\n$/), expect.stringContaining("ECONNRESET")]);
});
