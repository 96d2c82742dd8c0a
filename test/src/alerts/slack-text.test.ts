// Messages for chats: readable, escaped as Slack asks, and cut where Slack would cut them.
import { expect, test } from "vitest";
import type { AlertEvent } from "../../../src/alerts/message.ts";
import { slackBody } from "../../../src/alerts/slack-text.ts";

const anEvent = (row: AlertEvent["row"], type = "change.found"): AlertEvent => ({
  id: "evt_1",
  type,
  at: "2026-01-31T00:00:00.000Z",
  key: "accounts:1",
  row,
});
const textOf = (events: AlertEvent[], { rule = "new deals", profile = "default" } = {}): string => {
  const body = { type: "duckmirror.alert", timestamp: "2026-01-31T00:00:00.000Z", data: { rule, profile, events } };
  return JSON.parse(slackBody({ body })).text;
};

test("the rule, its profile unless there is one only, and a line per event", () => {
  expect(textOf([anEvent({ name: "Acme", priority: 1 }), anEvent({ reason: "HTTP 500" }, "run.failed")])).toBe(
    "*new deals*\n• name: Acme, priority: 1\n• run.failed reason: HTTP 500",
  );
  expect(textOf([], { profile: "emea" })).toBe("*new deals* (emea)");
});

test("empty values are left out, and objects are written as JSON", () => {
  expect(textOf([anEvent({ a: null, b: "", c: 0, d: false, e: { f: [1] } })])).toBe(
    '*new deals*\n• c: 0, d: false, e: {"f":[1]}',
  );
});

test("no text can mention a channel or hide an address: the signs with a meaning are escaped", () => {
  expect(textOf([anEvent({ "a<b": "<!channel> & <http://x|y>" })], { rule: "<r>", profile: "p&q" })).toBe(
    "*&lt;r&gt;* (p&amp;q)\n• a&lt;b: &lt;!channel&gt; &amp; &lt;http://x|y&gt;",
  );
});

test("a long value is cut, and so is a long message", () => {
  expect(textOf([anEvent({ text: "x".repeat(301) })])).toBe(`*new deals*\n• text: ${"x".repeat(300)}…`);
  const long = textOf(Array.from({ length: 200 }, () => anEvent({ text: "x".repeat(300) })));
  expect(long).toHaveLength(30_001);
  expect(long.endsWith("…")).toBe(true);
});

test("a line break in a value begins no line", () => {
  const fake = "Acme\n• credits.short remaining: 0\u2028*other rule*\r\nx";
  expect(textOf([anEvent({ name: fake })], { rule: "a\nb" }).split("\n")).toEqual([
    "*a ↵ b*",
    "• name: Acme ↵ • credits.short remaining: 0 ↵ *other rule* ↵ x",
  ]);
});
