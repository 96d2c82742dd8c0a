// Passes of rules over a real mirror, to a real receiver: which events there are, that each is sent once, in order, and what
// happens when the receiver is away, refuses, or is gone. Virtual time.

import { readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { alertFigures, alertsJob, replayAlert, testAlert } from "../../../jobs/alerts.ts";
import type { AlertEvent } from "../../../src/alerts/message.ts";
import { slackBody } from "../../../src/alerts/run-rule.ts";
import { EXAMPLE_RULES } from "../../../src/core/config/alerts/alert-settings.ts";
import { aContact, anAccount, aSignal } from "../../support/fake-data.ts";
import type { Answer } from "./a-receiver.ts";
import { aRule } from "./a-rule.ts";

// Messages for chats: readable, escaped as Slack asks, and cut where Slack would cut them.

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

const CHATS: readonly (readonly [string, AlertEvent[], { rule?: string; profile?: string }, string])[] = [
  [
    "a line per event, with its type where that is no change",
    [anEvent({ name: "Acme", priority: 1 }), anEvent({ reason: "HTTP 500" }, "run.failed")],
    {},
    "*new deals*\n• name: Acme, priority: 1\n• run.failed reason: HTTP 500",
  ],
  ["the profile, unless there is one only", [], { profile: "emea" }, "*new deals* (emea)"],
  [
    "no empty values, and objects as JSON",
    [anEvent({ a: null, b: "", c: 0, d: false, e: { f: [1] } })],
    {},
    '*new deals*\n• c: 0, d: false, e: {"f":[1]}',
  ],
  [
    "signs with a meaning escaped: no text can mention a channel or hide an address",
    [anEvent({ "a<b": "<!channel> & <http://x|y>" })],
    { rule: "<r>", profile: "p&q" },
    "*&lt;r&gt;* (p&amp;q)\n• a&lt;b: &lt;!channel&gt; &amp; &lt;http://x|y&gt;",
  ],
  [
    "no line break of a value",
    [anEvent({ name: "Acme\n• credits.short remaining: 0\u2028*other rule*\r\nx" })],
    { rule: "a\nb" },
    "*a ↵ b*\n• name: Acme ↵ • credits.short remaining: 0 ↵ *other rule* ↵ x",
  ],
];

test.each(CHATS)("a message for a chat has %s", (_, events, of, text) => {
  expect(textOf(events, of)).toBe(text);
});

test("a long value is cut, and so is a long message", () => {
  expect(textOf([anEvent({ text: "x".repeat(301) })])).toBe(`*new deals*\n• text: ${"x".repeat(300)}…`);
  const long = textOf(Array.from({ length: 200 }, () => anEvent({ text: "x".repeat(300) })));
  expect(long).toHaveLength(30_001);
  expect(long.endsWith("…")).toBe(true);
});

const HOUR_MS = 3_600_000;

const EVERY_SIGNAL =
  "SELECT c.n, s.id, s.headline FROM changes AS c JOIN main.signals AS s ON s.id = try_cast(c.key AS BIGINT) WHERE c.table_name = 'signals'";
const signals = (...ids: number[]) => ids.map((id) => aSignal(id));

test("a rule begins with the next change; its events are sent once, in batches, signed", async () => {
  const { pass, store, received, state, dataDir } = await aRule({ sql: EVERY_SIGNAL, batch: 2 });
  expect(await pass()).toMatchObject({ sent: 0, waiting: 0, error: null });
  await store("signals", signals(1, 2));
  expect(await pass()).toMatchObject({ sent: 0 });
  await store("signals", signals(3, 4, 5));
  expect(await pass()).toEqual({ name: "a", sent: 2, dead: 0, waiting: 0, nextAt: null, error: null });
  expect(await pass()).toMatchObject({ sent: 0 });
  expect(received.map(({ body }) => body)).toMatchObject([
    {
      type: "duckmirror.alert",
      timestamp: "2026-11-21T00:00:00.000Z",
      data: {
        rule: "a",
        profile: "default",
        events: [
          { type: "change.found", n: 3, table: "signals", change: "insert", key: "signals:3", row: { id: 3 } },
          { n: 4, row: { headline: "Signal 4" } },
        ],
      },
    },
    { data: { events: [{ n: 5 }] } },
  ]);
  expect(new Set(received.flatMap(({ id, body }) => [id, ...body.data.events.map((event) => event.id)])).size).toBe(5);
  expect(await state()).toMatchObject({ after: 5, sent: 2, waiting: 0, dead: [] });
  // Files that a kill left before the position was kept are no messages.
  writeFileSync(join(dataDir, "state/alerts/a/waiting/000000000009.json"), "{ half");
  expect(await pass()).toMatchObject({ sent: 0, waiting: 0 });
});

test("the example rules: funding at an account with a score over 70, and a champion who left", async () => {
  const [funding, left] = EXAMPLE_RULES;
  const found = async (sql: string) => {
    const { pass, store, received } = await aRule({ sql }, undefined, true);
    await store("accounts", [anAccount(71, { name: "Hot" }), anAccount(20)]);
    await store("contacts", [
      aContact("p_1", { type: "champion", currentCompanyName: "Acme" }),
      aContact("p_2", { type: "champion", currentCompanyName: "Acme" }),
      aContact("p_3", { type: "prospect", currentCompanyName: "Acme" }),
    ]);
    await pass();
    await store("signals", [
      aSignal(1, { accountId: 71, type: "funding-alert" }),
      aSignal(2, { accountId: 20, type: "funding-alert" }),
      aSignal(3, { accountId: 71 }),
    ]);
    await store("contacts", [
      aContact("p_1", { type: "champion", currentCompanyName: "Globex" }),
      aContact("p_2", { type: "champion", currentCompanyName: "Acme", currentTitle: "CTO" }),
      aContact("p_3", { type: "prospect", currentCompanyName: "Globex" }),
    ]);
    expect(await pass()).toMatchObject({ error: null });
    return received.flatMap(({ body }) => body.data.events.map(({ key, row }) => ({ key, row })));
  };
  expect(await found(funding.sql)).toMatchObject([{ key: "signals:1", row: { account: "Hot", main_score: 71 } }]);
  expect(await found(left.sql)).toMatchObject([
    { key: "contacts:p_1", row: { last_name: "Müller p_1", left_company: "Acme", new_company: "Globex" } },
  ]);
});

test("a receiver that is away: later events wait behind the first, each wait is longer, ids stay", async () => {
  let fault: Answer = { status: 503 };
  const { pass, store, received, taken, clock, config } = await aRule({ sql: EVERY_SIGNAL, batch: 1 }, () => fault);
  await store("signals", signals(1));
  await pass();
  await store("signals", signals(2));
  const start = clock.now();
  expect(await pass()).toMatchObject({
    sent: 0,
    waiting: 1,
    nextAt: start + 5_000,
    error: { code: "ALERT_UNDELIVERED" },
  });
  await store("signals", signals(3));
  expect(await pass()).toMatchObject({ waiting: 2, nextAt: start + 5_000 });
  expect(received).toHaveLength(1);
  await clock.sleep(5_000);
  fault = { status: 429, headers: { "retry-after": "3600" } };
  expect(await pass()).toMatchObject({ waiting: 2, nextAt: clock.now() + HOUR_MS });
  fault = { reset: true };
  await clock.sleep(HOUR_MS);
  expect(await pass()).toMatchObject({ waiting: 2, nextAt: clock.now() + 120_000 });
  // A pass that found nothing due made no attempt.
  const figures = { name: "a", sent: 0, failed: 3, waiting: 2, dead: 0, works: true };
  expect(await alertFigures(config)).toEqual([figures]);
  fault = {};
  await clock.sleep(120_000);
  expect(await pass()).toMatchObject({ sent: 2, waiting: 0, error: null });
  expect(await alertFigures(config)).toEqual([{ ...figures, sent: 2, waiting: 0 }]);
  expect(taken().map(({ body }) => body.data.events[0]?.n)).toEqual([2, 3]);
  expect(new Set(received.slice(0, 4).map(({ id }) => id)).size).toBe(1);
});

test("a clock that was years ahead during an attempt holds up no message once it is right", async () => {
  let fault: Answer = { status: 503 };
  const { pass, store, context, config, clock, taken } = await aRule({ sql: EVERY_SIGNAL }, () => fault);
  await store("signals", signals(1));
  await pass();
  await store("signals", signals(2));
  const ahead = { ...clock, now: () => clock.now() + 4 * 365 * 24 * HOUR_MS };
  expect(await alertsJob(config, [], { ...context, clock: ahead })).toMatchObject([{ sent: 0, waiting: 1 }]);
  fault = {};
  expect(await pass()).toMatchObject({ sent: 1, waiting: 0 });
  expect(taken().map(({ body }) => body.data.events[0]?.n)).toEqual([2]);
});

test("what is refused is a dead letter and holds up nothing; replay sends it under its id", async () => {
  let answer = (nth: number): Answer => (nth === 0 ? { status: 400 } : {});
  const rig = await aRule({ sql: EVERY_SIGNAL, batch: 1 }, (nth) => answer(nth));
  const { pass, store, received, config, context, state } = rig;
  await store("signals", signals(1));
  await pass();
  await store("signals", signals(2, 3));
  expect(await pass()).toMatchObject({ sent: 1, dead: 1, waiting: 0, error: { code: "ALERT_UNDELIVERED" } });
  expect((await state()).dead).toMatchObject([{ attempts: 1, error: "it answered 400", events: 1 }]);
  answer = () => ({});
  expect(await replayAlert(config, { name: "a", after: null }, context)).toMatchObject({
    sent: 1,
    dead: 0,
    error: null,
  });
  expect(received.map(({ body }) => body.data.events[0]?.n)).toEqual([2, 3, 2]);
  expect(received[2]?.id).toBe(received[0]?.id);
  // The changes again: the same events under the same ids.
  expect(await replayAlert(config, { name: "a", after: 1 }, context)).toMatchObject({ sent: 2 });
  expect(received.slice(3).map(({ id }) => id)).toEqual([received[0]?.id, received[1]?.id]);
});

test("where the folder of the messages cannot be read, the rule fails and has no figures: none would look like all sent", async () => {
  const { dataDir, pass, store, config, state } = await aRule({ sql: EVERY_SIGNAL }, () => ({ status: 503 }));
  await store("signals", signals(1));
  await pass();
  await store("signals", signals(2));
  expect(await pass()).toMatchObject({ waiting: 1 });
  const folder = join(dataDir, "state", "alerts", "a");
  renameSync(join(folder, "waiting"), join(folder, "aside"));
  writeFileSync(join(folder, "waiting"), "");
  expect(await pass()).toMatchObject({ error: { code: "ALERTS_DAMAGED" } });
  await expect(state()).rejects.toMatchObject({ code: "ALERTS_DAMAGED" });
  expect(await alertFigures(config)).toEqual([]);
});

test("410 turns the rule off, with a notice and without a loss; replay turns it on", async () => {
  let status = 410;
  const { pass, store, received, config, context, state } = await aRule({ sql: EVERY_SIGNAL }, () => ({ status }));
  await store("signals", signals(1));
  await pass();
  await store("signals", signals(2));
  expect(await pass()).toMatchObject({ sent: 0, waiting: 1, error: { code: "ALERT_OFF" } });
  await store("signals", signals(3));
  expect(await pass()).toMatchObject({ waiting: 1, error: { code: "ALERT_OFF" } });
  expect(received).toHaveLength(1);
  expect((await state()).off).toMatchObject({ detail: "it answered 410" });
  status = 204;
  expect(await replayAlert(config, { name: "a", after: null }, context)).toMatchObject({ sent: 2, waiting: 0 });
  expect(received.flatMap(({ body }) => body.data.events.map(({ n }) => n))).toEqual([2, 2, 3]);
});

test("a query that fails is an error of its rule, which goes on where it was once the query is right", async () => {
  const { pass, store, config, context, state, received } = await aRule({ sql: EVERY_SIGNAL });
  await store("signals", signals(1));
  await pass();
  await store("signals", signals(2));
  const wrong = { ...config, alerts: config.alerts.map((rule) => ({ ...rule, sql: "SELECT nothing FROM changes" })) };
  expect(await alertsJob(wrong, [], context)).toMatchObject([{ sent: 0, error: { code: "QUERY_FAILED" } }]);
  expect(await state()).toMatchObject({ after: 1, problem: { code: "QUERY_FAILED" } });
  expect(await pass()).toMatchObject({ sent: 1, error: null });
  expect((await state()).problem).toBeNull();
  expect(received).toHaveLength(1);
});

test("a feed that is behind the position gives one notice, and the rule goes on from its end", async () => {
  const { pass, store, config, context, received, state } = await aRule({ sql: EVERY_SIGNAL });
  await store("signals", signals(1));
  await pass();
  await replayAlert(config, { name: "a", after: 99 }, context);
  expect(received.map(({ body }) => body.data.events)).toMatchObject([
    [{ type: "feed.gap", row: { after: 99, continues_after: 1 } }],
  ]);
  expect((await state()).after).toBe(1);
});

test("another feed that has passed the position gives the notice too: a mirror that was restored and synced since", async () => {
  const { pass, store, received, dataDir, state } = await aRule({ sql: EVERY_SIGNAL, batch: 9 });
  await store("signals", signals(1));
  await pass();
  await store("signals", signals(2, 3));
  await pass();
  for (const name of readdirSync(dataDir)) if (name !== "state") rmSync(join(dataDir, name), { recursive: true });
  for (const name of readdirSync(join(dataDir, "state"))) {
    if (name !== "alerts") rmSync(join(dataDir, "state", name), { recursive: true });
  }
  await store("signals", signals(11, 12));
  await store("accounts", [anAccount(1)]);
  await store("signals", signals(13, 14));
  expect(await pass()).toMatchObject({ sent: 1, error: null });
  expect(received.at(-1)?.body.data.events).toMatchObject([
    { type: "feed.gap", row: { after: 3, continues_after: 5 } },
  ]);
  await store("signals", signals(16));
  await pass();
  expect(received.at(-1)?.body.data.events).toMatchObject([{ n: 6, row: { id: 16 } }]);
  expect((await state()).after).toBe(6);
});

test("a test sends a few events, marked as a test, and changes nothing of the rule", async () => {
  const { store, config, context, received, state, dataDir } = await aRule({ sql: EVERY_SIGNAL });
  await store("signals", signals(1, 2, 3, 4));
  expect(await testAlert(config, "a", context)).toMatchObject({ found: { length: 4 }, taken: true, error: null });
  expect(received.map(({ body }) => [body.type, body.data.events.length])).toEqual([["duckmirror.test", 3]]);
  expect((await state()).after).toBeNull();
  expect(readdirSync(join(dataDir, "state"))).not.toContain("alerts");
});

test("without address or secret, and with a wrong one, the rule fails and names the cause, never the value", async () => {
  const { config, context } = await aRule({ sql: EVERY_SIGNAL });
  const [rule] = config.alerts;
  if (rule === undefined) throw new Error("no rule");
  const failure = async (more: object) => {
    const [found] = await alertsJob({ ...config, alerts: [{ ...rule, ...more }] }, [], context);
    return found?.error?.message;
  };
  expect(await failure({ unset: ["URL", "SECRET"] })).toContain("alerts: a: URL and SECRET are not set");
  expect(await failure({ secret: { file: "/nowhere/key" } })).toContain("secret_file /nowhere/key cannot be read");
  writeFileSync(join(config.dataDir, "key"), "whsec_hush");
  const wrong = await failure({ secret: { file: join(config.dataDir, "key") } });
  expect(wrong).toContain("its secret is not whsec_");
  expect(wrong).not.toContain("hush");
});
