// Job alerts: evaluates the alert rules over the published snapshot and sends what they found. Spends no credit and takes no
// writer's lock; a rule whose receiver is away does not stop the others.
import { statSync } from "node:fs";
import { readChangeEvents } from "../src/alerts/events/change-events.ts";
import { inSnapshot, readConditions } from "../src/alerts/events/conditions.ts";
import { KEPT_PAST, pastStates } from "../src/alerts/events/past.ts";
import { type AlertEvent, eventId, messagesOf } from "../src/alerts/message.ts";
import { alone, type RuleContext, type RulePass, runRule, senderOf } from "../src/alerts/run-rule.ts";
import { verdictOf } from "../src/alerts/sending/post.ts";
import { openRuleStore, type StoredMessage } from "../src/alerts/store/rule-store.ts";
import type { AlertSettings } from "../src/core/config/alerts/alert-settings.ts";
import type { Config } from "../src/core/config/config.ts";
import { snapshotPath } from "../src/core/data-dir.ts";
import { DuckmirrorError } from "../src/core/errors.ts";
import { withCode } from "../src/core/report/problem.ts";
import { deliveryFigures, deliveryStates } from "../src/deliver/delivery-results.ts";
import { lastChangeBefore, readFeedBounds } from "../src/warehouse/read/changes/read-changes.ts";
import { readPublishedAt } from "../src/warehouse/read/looks.ts";
import { readSnapshot } from "../src/warehouse/read/mirror-reader.ts";

export type AlertsConfig = Pick<Config, "dataDir" | "alerts" | "profile" | "userSql" | "destinations">;
export type AlertsContext = Pick<RuleContext, "clock" | "random" | "signal" | "resolve" | "query">;

/** Changes that a test of a rule reads. */
const TEST_CHANGES = 10_000;
/** Events that a test sends. */
const TEST_EVENTS = 3;

/** The configured rules of these names; empty: all. Throws ALERTS_MISSING, ALERT_UNKNOWN. */
export const rulesNamed = ({ alerts }: AlertsConfig, names: readonly string[]): readonly AlertSettings[] => {
  if (alerts.length === 0) throw new DuckmirrorError("ALERTS_MISSING");
  const unknown = names.find((name) => !alerts.some((rule) => rule.name === name));
  if (unknown !== undefined) {
    throw new DuckmirrorError("ALERT_UNKNOWN", { name: unknown, names: alerts.map(({ name }) => name).join(", ") });
  }
  return alerts.filter(({ name }) => names.length === 0 || names.includes(name));
};

/** How far the destinations are, compared with the published snapshot. */
const deliveriesOf = async (config: AlertsConfig) => {
  const snapshot = snapshotPath(config.dataDir);
  // The date of the file is that of a copy, where a worker fetched the mirror from its home.
  const noted = await readSnapshot(snapshot, ({ database }) => readPublishedAt(database));
  const publishedAt = noted ?? Math.trunc(statSync(snapshot).mtimeMs);
  return (await deliveryStates(config)).map((state) => deliveryFigures(state, publishedAt));
};

const contextOf = (config: AlertsConfig, context: AlertsContext): RuleContext => ({
  ...context,
  deliveries: () => deliveriesOf(config),
  dataDir: config.dataDir,
  profile: config.profile,
  userSql: config.userSql,
});

const failedPass = (name: string, error: unknown): RulePass => ({
  name,
  sent: 0,
  dead: 0,
  waiting: 0,
  nextAt: null,
  error: withCode(error),
});

/**
 * A pass of each rule. Resolves also when some failed: see `error`. Throws ALERTS_MISSING, ALERT_UNKNOWN, and the
 * reason of `signal`.
 */
export const alertsJob = async (
  config: AlertsConfig,
  names: readonly string[],
  context: AlertsContext,
): Promise<readonly RulePass[]> => {
  const passes: RulePass[] = [];
  for (const rule of rulesNamed(config, names)) {
    context.signal.throwIfAborted();
    const pass = runRule(rule, contextOf(config, context)).catch((error: unknown) => {
      context.signal.throwIfAborted();
      return failedPass(rule.name, error);
    });
    passes.push(await pass);
  }
  return passes;
};

const onlyRule = (config: AlertsConfig, name: string): AlertSettings => {
  const [rule] = rulesNamed(config, [name]);
  if (rule === undefined) throw new DuckmirrorError("ALERTS_MISSING");
  return rule;
};

/**
 * Sends a rule's dead letters and waiting messages again, at once and under their ids, and turns the rule on. `after`: also
 * evaluates the changes behind this number again; null: goes on. Throws as alertsJob, ALERT_BUSY.
 */
export const replayAlert = async (
  config: AlertsConfig,
  { name, after }: { readonly name: string; readonly after: number | null },
  context: AlertsContext,
): Promise<RulePass> => {
  const rule = onlyRule(config, name);
  await alone(config.dataDir, name, async () => {
    const store = openRuleStore(config.dataDir, name);
    const anew = ({ seq, message }: StoredMessage): StoredMessage => ({
      seq,
      message: { ...message, attempts: 0, nextAt: 0, madeAt: context.clock.now() },
    });
    for (const letter of await store.messages("dead")) await store.move(anew(letter), "waiting");
    for (const waiting of await store.messages("waiting")) await store.note(anew(waiting));
    const position = await store.position();
    const start = after === null ? {} : { after, change: null, snapshot: null };
    await store.keep({ ...position, ...start, off: null, problem: null });
  });
  return runRule(rule, contextOf(config, context));
};

/** A message that was given up. */
export interface DeadLetter {
  readonly id: string;
  /** ms since the epoch. */
  readonly madeAt: number;
  /** Number of its events. */
  readonly events: number;
  readonly attempts: number;
  readonly error: string | null;
}

/** An alert rule, how far it has come, and what it keeps. */
export interface AlertReport {
  readonly name: string;
  readonly event: AlertSettings["event"];
  /** Last change that was considered; null: none yet. */
  readonly after: number | null;
  /** States that are true now, and since when. */
  readonly active: readonly { readonly key: string; readonly since: string }[];
  /** The receiver answered 410; null: it takes messages. */
  readonly off: { readonly at: string; readonly detail: string } | null;
  /** Why the rule could not be evaluated; null: it could. */
  readonly problem: { readonly at: string; readonly code: string; readonly message: string } | null;
  /** Messages that were taken, and attempts that failed, since the rule began. */
  readonly sent: number;
  readonly failed: number;
  readonly waiting: number;
  /** Time of the next attempt, ms since the epoch; null: nothing waits for one. */
  readonly nextAt: number | null;
  /** Why the first message that waits was not taken. */
  readonly error: string | null;
  readonly dead: readonly DeadLetter[];
}

const reportOn = async ({ name, event }: AlertSettings, dataDir: string): Promise<AlertReport> => {
  const store = openRuleStore(dataDir, name);
  const { after, active, off, problem, sent, failed } = await store.position();
  const waiting = await store.messages("waiting");
  const dead = await store.messages("dead");
  const first = waiting[0]?.message;
  return {
    name,
    event,
    after,
    active: Object.entries(active).map(([key, { since }]) => ({ key, since })),
    off,
    problem,
    sent,
    failed,
    waiting: waiting.length,
    nextAt: first === undefined || first.nextAt === 0 ? null : first.nextAt,
    error: first?.error ?? null,
    dead: dead.map(({ message: { id, madeAt, body, attempts, error } }) => ({
      id,
      madeAt,
      events: body.data.events.length,
      attempts,
      error,
    })),
  };
};

/** The rules with what they keep. Throws ALERTS_MISSING, ALERT_UNKNOWN, ALERTS_DAMAGED. */
export const listAlerts = (config: AlertsConfig, names: readonly string[]): Promise<readonly AlertReport[]> =>
  Promise.all(rulesNamed(config, names).map((rule) => reportOn(rule, config.dataDir)));

/** Figures of a rule. */
export interface AlertFigures {
  readonly name: string;
  /** Messages that were taken so far, and attempts that failed. */
  readonly sent: number;
  readonly failed: number;
  /** Messages that wait now, and dead letters now. */
  readonly waiting: number;
  readonly dead: number;
  /** It can be evaluated, and its receiver did not end it. */
  readonly works: boolean;
}

const figuresOf = async (name: string, dataDir: string): Promise<AlertFigures> => {
  const store = openRuleStore(dataDir, name);
  const { sent, failed, off, problem } = await store.position();
  const [waiting, dead] = [await store.count("waiting"), await store.count("dead")];
  return { name, sent, failed, waiting, dead, works: off === null && problem === null };
};

/** Figures of every configured rule; a rule whose files are damaged or cannot be read has none. */
export const alertFigures = async ({ alerts, dataDir }: AlertsConfig): Promise<readonly AlertFigures[]> => {
  const found: AlertFigures[] = [];
  for (const { name } of alerts) {
    const figures = await figuresOf(name, dataDir).catch(() => null);
    if (figures !== null) found.push(figures);
  }
  return found;
};

/** An event as it was found: only one that is sent has an id. */
type FoundEvent = Omit<AlertEvent, "id">;
const withoutId = ({ id: _, ...event }: AlertEvent): FoundEvent => event;

/** What a rule would find now: in the last changes, or true. */
const foundNow = async (rule: AlertSettings, config: AlertsConfig, { clock, signal, query }: AlertsContext) => {
  const { dataDir, userSql: sqlSource } = config;
  const snapshot = snapshotPath(dataDir);
  const now = clock.now();
  const at = new Date(now).toISOString();
  const { event } = rule;
  if (event === "heartbeat") return [];
  if (event !== "changes") {
    const conditions = await readConditions({ ...rule, event }, snapshot, now, await deliveriesOf(config));
    return conditions.map(({ key, row }): AlertEvent => ({ id: "", type: event, at, key, row: { ...row } }));
  }
  const { last, goneTo } = await inSnapshot(snapshot, readFeedBounds);
  const after = Math.max(goneTo, last - TEST_CHANGES);
  const question = { snapshot, mirror: "test", rule, after, change: null, now, signal, sqlSource, query };
  return (await readChangeEvents(question)).events;
};

/** Changes of a rule since a moment, as far as the feed keeps them. */
const pastChanges = async (
  { name, sql }: AlertSettings,
  { dataDir, userSql: sqlSource }: AlertsConfig,
  since: number,
  { clock, signal, query }: AlertsContext,
): Promise<readonly AlertEvent[]> => {
  const snapshot = snapshotPath(dataDir);
  const question = { snapshot, mirror: "past", rule: { name, sql }, now: clock.now(), signal, sqlSource, query };
  const { goneTo } = await inSnapshot(snapshot, readFeedBounds);
  const events: AlertEvent[] = [];
  let after = Math.max(goneTo, await inSnapshot(snapshot, (database) => lastChangeBefore(database, since)));
  for (let more = true; more; ) {
    const found = await readChangeEvents({ ...question, after, change: null });
    events.push(...found.events);
    ({ after, more } = found);
  }
  return events;
};

/**
 * When a rule would have sent what since a moment (ms since the epoch). Sends nothing, changes nothing. Throws as alertsJob, USAGE for an
 * event whose past is not kept, and the errors of reading.
 */
export const backtestAlert = async (
  config: AlertsConfig,
  { name, since }: { readonly name: string; readonly since: number },
  context: AlertsContext,
): Promise<readonly FoundEvent[]> => {
  const rule = onlyRule(config, name);
  const { event } = rule;
  if (event === "changes") return (await pastChanges(rule, config, since, context)).map(withoutId);
  const kept = KEPT_PAST.find((known) => known === event);
  if (kept === undefined)
    throw new DuckmirrorError("USAGE", {
      detail: `the mirror keeps nothing that shows when ${event} was true; known: changes, ${KEPT_PAST.join(", ")}`,
    });
  const past = await pastStates(snapshotPath(config.dataDir), kept, { rule: name, since, now: context.clock.now() });
  return past.map(withoutId);
};

/** What an alert rule finds, and whether its receiver took a test message. */
export interface AlertTestReport {
  /** In the last 10,000 changes, or what is true now. */
  readonly found: readonly Omit<AlertEvent, "id">[];
  readonly taken: boolean;
  readonly error: DuckmirrorError | null;
}

/**
 * Sends one message of type duckmirror.test with a few of the events that a rule finds. Changes nothing of the rule. Throws
 * as alertsJob, SNAPSHOT_MISSING, QUERY_FAILED, QUERY_LIMIT.
 */
export const testAlert = async (
  config: AlertsConfig,
  name: string,
  context: AlertsContext,
): Promise<AlertTestReport> => {
  const rule = onlyRule(config, name);
  const { clock } = context;
  const send = await senderOf(rule, contextOf(config, context));
  const found = await foundNow(rule, config, context);
  const now = clock.now();
  const nothing: AlertEvent = {
    id: "",
    type: "test",
    at: new Date(now).toISOString(),
    key: "test",
    row: { text: "duckmirror can reach this receiver" },
  };
  const shown = found.length === 0 ? [nothing] : found.slice(0, TEST_EVENTS);
  const events = shown.map((event, nth) => ({ ...event, id: eventId("test", name, now, nth) }));
  const of = { rule: name, profile: config.profile, batch: TEST_EVENTS, now, type: "duckmirror.test" };
  const [message] = messagesOf(events, of);
  const report = { found: found.map(withoutId), taken: false, error: null };
  if (message === undefined) return report;
  const attempt = await send(message);
  const verdict = verdictOf(attempt, { attempts: 1, madeAt: now, now, random: 0 });
  if (verdict.kind === "sent") return { ...report, taken: true };
  return { ...report, error: new DuckmirrorError("ALERT_TEST_UNDELIVERED", { name, detail: verdict.detail }) };
};
