// Setting `alerts`: what is wrong with a rule is named; addresses and secrets are never shown.
import { readFileSync } from "node:fs";
import { inspect } from "node:util";
import { expect, test } from "vitest";
import { EXAMPLE_RULES } from "../../../../../src/core/config/alerts/alert-settings.ts";
import { configOf } from "../../../../support/given-config.ts";

const rules = (text: string, env?: Record<string, string>) => configOf(`alerts: [${text}]`, env).alerts;

test("rules with their address and secret from variables, a file, or the file itself", () => {
  const env = { HOOK: "https://hooks.example/hush-url", KEY: "whsec_hush" };
  const found = rules(
    `{ name: a, event: changes, sql: SELECT 1 AS n, url_env: HOOK, secret_env: KEY, batch: 5 },
     { name: b, event: data_old, after: 2h, url: https://x.example, secret_file: ./key },
     { name: c, event: run_failed, url: "http://10.0.0.1/", format: slack, allow_private: yes }`,
    env,
  );
  expect(found).toMatchObject([
    { name: "a", event: "changes", sql: "SELECT 1 AS n", format: "json", batch: 5, unset: [], allowPrivate: false },
    { name: "b", afterMs: 7_200_000, secret: { file: "/etc/duckmirror/key" }, batch: 20 },
    { name: "c", afterMs: 129_600_000, secret: null, format: "slack", allowPrivate: true },
  ]);
  expect(found[0]?.url.reveal()).toBe("https://hooks.example/hush-url");
  expect(inspect(found, { depth: 9 }) + JSON.stringify(found)).not.toContain("hush");
});

test("a variable that is not set is named, and is no error of the configuration", () => {
  expect(rules("{ name: a, event: run_failed, url_env: U, secret_env: S }")).toMatchObject([{ unset: ["U", "S"] }]);
});

test.each([
  ["{ name: a, event: changes, url: https://x, format: slack }", "a: event changes needs sql"],
  ["{ name: a, event: run_failed, sql: SELECT 1, url: https://x, format: slack }", "event run_failed takes no sql"],
  ["{ name: a, event: never, url: https://x }", "is not one of changes, run_failed, data_old, credits_short"],
  ["{ name: a, event: run_failed, format: slack }", "a: needs either url or url_env"],
  ["{ name: a, event: run_failed, url: https://x }", "a: needs either secret_env or secret_file"],
  ["{ name: a, event: run_failed, url: https://x, format: slack, secret_env: S }", "format slack takes no secret"],
  ["{ name: a, event: run_failed, url: http://x, format: slack }", "must begin with https"],
  ["{ name: a, event: run_failed, url: https://x, format: slack, after: 1h }", "after is for event data_old"],
  ["{ name: a, event: run_failed, url: https://x, format: slack, batch: 0 }", "is not a whole number from 1 to 1000"],
  [
    "{ name: a, event: run_failed, url: https://x, format: slack }, { name: a, event: run_failed, url: https://x, format: slack }",
    "a is the name of two rules",
  ],
])("%s", (text, problem) => {
  expect(() => rules(text)).toThrow(problem);
});

test("docs/ALERTS.md shows the same rules", () => {
  const text = readFileSync(new URL("../../../../../docs/ALERTS.md", import.meta.url), "utf8");
  const block = /```yaml\n([\s\S]*?)```/.exec(text)?.[1] ?? "";
  const { alerts } = configOf(block.replace(/^ {3}/gm, ""));
  const oneLine = (sql: string) => sql.replace(/\s+/g, " ").trim();
  expect(alerts.map(({ name }) => name)).toEqual([
    "funding",
    "champion-left",
    "failed",
    "old",
    "credits",
    "drift",
    "alive",
  ]);
  expect(alerts.slice(0, 2).map(({ sql }) => oneLine(sql))).toEqual(
    EXAMPLE_RULES.slice(0, 2).map((rule) => "sql" in rule && rule.sql),
  );
});

test("the examples are rules", () => {
  expect(configOf("", { DUCKMIRROR_ALERTS: JSON.stringify(EXAMPLE_RULES) }).alerts).toHaveLength(3);
});
