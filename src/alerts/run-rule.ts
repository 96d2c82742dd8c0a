// Runs one alert rule once: events since its position become messages, kept together with the position; then messages are sent, signed and in
// the form of their receiver, in order until none waits, or the first one must wait for its next attempt. So events of one key arrive in
// order, and a kill at any moment loses none and makes none up; a message whose answer was lost is sent again under its id. A message that is
// refused for long is given up (dead letter), and a rule without a receiver for long is switched off.
import { join } from "node:path";
import type { AlertSettings } from "../core/config/alerts/alert-settings.ts";
import type { UserSqlSetting } from "../core/config/settings.ts";
import { snapshotPath } from "../core/data-dir.ts";
import { DuckmirrorError, detailOf, isCode } from "../core/errors.ts";
import { readGiven } from "../core/files/given-files.ts";
import { makeOwnFolder } from "../core/files/own-files.ts";
import { problemOf, withCode } from "../core/report/problem.ts";
import { createScrubber } from "../core/secret.ts";
import { HISTORY_ID, lastingId } from "../core/state/shared-file.ts";
import { openError } from "../warehouse/duckdb/duck-errors.ts";
import { takeWriterLock } from "../warehouse/file/working-file.ts";
import { fileVersion } from "../warehouse/read/looks.ts";
import { type RunQuery, readChangeEvents } from "./events/change-events.ts";
import { type DeliveryState, lastEndedRun, readConditions, stateEvents } from "./events/conditions.ts";
import { type AlertEvent, eventId, type Message, messagesOf } from "./message.ts";
import { isAttemptDue, keysIn, type Post, postOnce, type Resolve, signedHeaders, verdictOf } from "./sending/post.ts";
import { openRuleStore, type Position, type RuleStore, ruleFolder, type StoredMessage } from "./store/rule-store.ts";

// A message as text for chats that take Slack's incoming webhooks. Pure.
// Source: https://api.slack.com/messaging/webhooks; &, < and > are escaped as Slack asks.

/** Most characters of a value, and of a message: Slack cuts longer ones. */
const VALUE_LENGTH = 300;
const TEXT_LENGTH = 30_000;

/** A line break in a value would begin a line that looks like one of duckmirror's own. */
const oneLine = (text: string): string => text.replace(/[\p{Cc}\u2028\u2029]+/gu, " ↵ ");

const escaped = (text: string): string =>
  oneLine(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

const shownValue = (value: unknown): string => {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > VALUE_LENGTH ? `${text.slice(0, VALUE_LENGTH)}…` : text;
};

const lineOf = ({ type, row }: AlertEvent): string => {
  const values = Object.entries(row).filter(([, value]) => value !== null && value !== "");
  const what = type === "change.found" ? "" : `${type} `;
  return `• ${what}${values.map(([name, value]) => `${name}: ${shownValue(value)}`).join(", ")}`;
};

/** The body to post. */
export const slackBody = ({ body }: Pick<Message, "body">): string => {
  const { rule, profile, events } = body.data;
  const head = `*${escaped(rule)}*${profile === "default" ? "" : ` (${escaped(profile)})`}`;
  const lines = [head, ...events.map((event) => escaped(lineOf(event)))].join("\n");
  return JSON.stringify({ text: lines.length > TEXT_LENGTH ? `${lines.slice(0, TEXT_LENGTH)}…` : lines });
};

/** Teams shows a subset of Markdown. */
const unmarked = (text: string): string => oneLine(text).replace(/[\\[\]*_~`]/g, "\\$&");

/**
 * The body for an incoming webhook of Teams' workflows: a card with a line per event.
 * Source: https://learn.microsoft.com/power-automate/teams/send-a-message-in-teams
 */
const teamsBody = ({ body }: Pick<Message, "body">): string => {
  const { rule, profile, events } = body.data;
  const block = (text: string, more: object = {}) => ({ type: "TextBlock", wrap: true, text: unmarked(text), ...more });
  const head = profile === "default" ? rule : `${rule} (${profile})`;
  const lines = events.map((event) => block(lineOf(event)).text.slice(0, TEXT_LENGTH / events.length));
  const content = {
    $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
    type: "AdaptiveCard",
    version: "1.4",
    body: [block(head, { weight: "Bolder" }), ...lines.map((text) => ({ type: "TextBlock", wrap: true, text }))],
  };
  const contentType = "application/vnd.microsoft.card.adaptive";
  return JSON.stringify({ type: "message", attachments: [{ contentType, content }] });
};

const bodyOf = (format: AlertSettings["format"], message: Message): string => {
  if (format === "slack") return slackBody(message);
  return format === "teams" ? teamsBody(message) : JSON.stringify(message.body);
};

export interface RuleContext {
  readonly dataDir: string;
  readonly profile: string;
  readonly clock: { now(): number };
  /** In [0, 1). */
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** Unset: the system's. */
  readonly resolve?: Resolve;
  /** How far the destinations are. */
  readonly deliveries: () => Promise<readonly DeliveryState[]>;
  /** The setting `user_sql`. */
  readonly userSql: UserSqlSetting;
  /** Unset: in a process of its own. */
  readonly query?: RunQuery;
}

/** Result of a pass. */
export interface RulePass {
  readonly name: string;
  readonly sent: number;
  /** Messages that became dead letters in this pass. */
  readonly dead: number;
  /** Messages that wait, and the time of the next attempt (ms since the epoch); null: none. */
  readonly waiting: number;
  readonly nextAt: number | null;
  /** Why the rule could not be evaluated, or its first message was not taken; null: neither. */
  readonly error: DuckmirrorError | null;
}

/** Runs `work` while no other process works on the rule. Throws ALERT_BUSY. */
export const alone = async <T>(dataDir: string, rule: string, work: () => Promise<T>): Promise<T> => {
  const folder = ruleFolder(dataDir, rule);
  makeOwnFolder(folder);
  const file = join(folder, "writer.lock");
  const lock = await takeWriterLock(file, folder).catch((error: unknown) => {
    const known = openError(error, file, folder);
    throw isCode(known, "WRITER_BUSY") ? new DuckmirrorError("ALERT_BUSY", { name: rule }) : known;
  });
  try {
    return await work();
  } finally {
    await lock.release();
  }
};

const secretIn = (file: string, invalid: (detail: string) => DuckmirrorError): string => {
  try {
    return readGiven(file);
  } catch (cause) {
    throw invalid(`secret_file ${file} cannot be read: ${detailOf(cause)}`);
  }
};

/** The keys that sign a rule's messages; null: it signs none. Throws CONFIG_INVALID, without the secret. */
const keysOf = async ({ name, secret, unset }: AlertSettings): Promise<readonly Buffer[] | null> => {
  const invalid = (detail: string) => new DuckmirrorError("CONFIG_INVALID", { detail: `alerts: ${name}: ${detail}` });
  if (unset.length > 0) throw invalid(`${unset.join(" and ")} ${unset.length === 1 ? "is" : "are"} not set`);
  if (secret === null) return null;
  const text = "value" in secret ? secret.value.reveal() : secretIn(secret.file, invalid);
  const keys = keysIn(text);
  if (keys === null) throw invalid("its secret is not whsec_ and the Base64 text of 24 to 64 bytes");
  return keys;
};

/** Sends one message once. */
export type SendOnce = (message: Message) => ReturnType<typeof postOnce>;

/** How messages of a rule are sent. Throws CONFIG_INVALID where its address or secret is missing. */
export const senderOf = async (rule: AlertSettings, context: RuleContext): Promise<SendOnce> => {
  const { clock, signal, resolve } = context;
  const keys = await keysOf(rule);
  const url = rule.url.reveal();
  return (message) => {
    const body = bodyOf(rule.format, message);
    const signed = keys === null ? {} : signedHeaders({ id: message.id, body }, keys, clock.now());
    const headers = { "content-type": "application/json", "user-agent": "duckmirror", ...signed };
    const post: Post = { url, headers, body, allowPrivate: rule.allowPrivate, signal };
    return postOnce(post, resolve);
  };
};

/** The text without the address of the rule. */
const scrubbed = (text: string, { url }: AlertSettings): string => {
  const scrubber = createScrubber();
  scrubber.hide(url);
  return scrubber.scrub(text);
};

type Evaluated = { readonly position: Position; readonly messages: readonly Message[]; readonly more: boolean };

/** A message per sync that ended well, so that a monitor elsewhere notices when none comes. */
const beat = (
  position: Position,
  run: { readonly run_id: string; readonly status: string } | null,
  of: Parameters<typeof messagesOf>[1] & { readonly mirror: string },
): Evaluated => {
  const isGood = run !== null && ["done", "stopped"].includes(run.status);
  if (!isGood || Object.hasOwn(position.active, run.run_id)) return { position, messages: [], more: false };
  const at = new Date(of.now).toISOString();
  const { run_id, status } = run;
  const event = {
    id: eventId(of.mirror, of.rule, run_id),
    type: "run.ended",
    at,
    key: "runs",
    row: { run_id, status },
  };
  return {
    position: { ...position, active: { [run_id]: { since: at } } },
    messages: messagesOf([event], of),
    more: false,
  };
};

const evaluate = async (rule: AlertSettings, position: Position, context: RuleContext): Promise<Evaluated> => {
  const { dataDir, profile, clock, signal } = context;
  const snapshot = snapshotPath(dataDir);
  const version = fileVersion(snapshot);
  const nothing = { position, messages: [], more: false };
  if (version === null) return nothing;
  const now = clock.now();
  const mirror = await lastingId(dataDir, HISTORY_ID);
  const of = { rule: rule.name, profile, batch: rule.batch, now };
  const { event } = rule;
  if (event === "heartbeat") return beat(position, await lastEndedRun(snapshot), { ...of, mirror });
  if (event !== "changes") {
    const deliveries = event === "delivery_late" ? await context.deliveries() : [];
    const conditions = await readConditions({ ...rule, event }, snapshot, now, deliveries);
    const { events, active } = stateEvents(position.active, conditions, { event, mirror, rule: rule.name, now });
    return { position: { ...position, active }, messages: messagesOf(events, of), more: false };
  }
  if (version === position.snapshot) return nothing;
  const question = {
    snapshot,
    mirror,
    rule,
    after: position.after,
    change: position.change,
    now,
    signal,
    sqlSource: context.userSql,
    query: context.query,
  };
  const { events, after, change, more } = await readChangeEvents(question);
  return {
    position: { ...position, after, change, snapshot: more ? null : version },
    messages: messagesOf(events, of),
    more,
  };
};

/** Makes messages of what is new; returns why it could not. */
const takeUp = async (rule: AlertSettings, store: RuleStore, context: RuleContext): Promise<DuckmirrorError | null> => {
  for (let more = true; more; ) {
    const before = await store.position();
    try {
      const found = await evaluate(rule, before, context);
      more = found.more;
      const position = { ...found.position, problem: null };
      if (JSON.stringify(position) !== JSON.stringify(before)) await store.commit(position, found.messages);
    } catch (error) {
      context.signal.throwIfAborted();
      const { code, message } = problemOf(error);
      const problem = { at: new Date(context.clock.now()).toISOString(), code, message };
      if (before.problem?.message !== message) await store.keep({ ...before, problem });
      return withCode(error);
    }
  }
  return null;
};

type Sent = Omit<RulePass, "name" | "waiting"> & { readonly failed: number; readonly gone: string | null };

/** Sends what waits, in order. */
const sendAll = async (rule: AlertSettings, store: RuleStore, context: RuleContext): Promise<Sent> => {
  const { clock, random } = context;
  const send = await senderOf(rule, context);
  const counts = { sent: 0, dead: 0, failed: 0 };
  const undelivered = (detail: string) => new DuckmirrorError("ALERT_UNDELIVERED", { name: rule.name, detail });
  let error: DuckmirrorError | null = null;
  for (const { seq, message } of await store.messages("waiting")) {
    context.signal.throwIfAborted();
    const now = clock.now();
    if (!isAttemptDue(message.nextAt, now)) {
      return { ...counts, nextAt: message.nextAt, error: undelivered(message.error ?? ""), gone: null };
    }
    const attempts = message.attempts + 1;
    const attempt = await send(message);
    const verdict = verdictOf(attempt, { attempts, madeAt: message.madeAt, now: clock.now(), random: random() });
    if (verdict.kind === "sent") {
      await store.remove({ seq, message });
      counts.sent += 1;
      continue;
    }
    counts.failed += 1;
    const detail = scrubbed(verdict.detail, rule);
    error = undelivered(detail);
    const nextAt = verdict.kind === "retry" ? verdict.nextAt : 0;
    const tried: StoredMessage = { seq, message: { ...message, attempts, nextAt, error: detail } };
    if (verdict.kind === "dead") {
      await store.move(tried, "dead");
      counts.dead += 1;
      continue;
    }
    await store.note(tried);
    if (verdict.kind === "gone") return { ...counts, nextAt: null, error, gone: detail };
    return { ...counts, nextAt, error, gone: null };
  }
  return { ...counts, nextAt: null, error, gone: null };
};

const offError = (name: string, { at }: { readonly at: string }): DuckmirrorError =>
  new DuckmirrorError("ALERT_OFF", { name, at });

/**
 * Evaluates a rule and sends its messages. Resolves also when messages were not taken: see `error`. Throws ALERT_BUSY,
 * ALERTS_DAMAGED, CONFIG_INVALID, DATA_DIR_UNWRITABLE, and the reason of `signal`.
 */
export const runRule = (rule: AlertSettings, context: RuleContext): Promise<RulePass> =>
  alone(context.dataDir, rule.name, async () => {
    const { name } = rule;
    const store = openRuleStore(context.dataDir, name);
    const { off } = await store.position();
    if (off !== null) {
      const waiting = (await store.messages("waiting")).length;
      return { name, sent: 0, dead: 0, waiting, nextAt: null, error: offError(name, off) };
    }
    const problem = await takeUp(rule, store, context);
    const { sent, dead, failed, nextAt, error, gone } = await sendAll(rule, store, context);
    const position = await store.position();
    const turned = gone === null ? null : { at: new Date(context.clock.now()).toISOString(), detail: gone };
    if (sent + failed > 0) {
      const counts = { sent: position.sent + sent, failed: position.failed + failed, dead: position.dead + dead };
      await store.keep({ ...position, off: turned, ...counts });
    }
    const waiting = (await store.messages("waiting")).length;
    const why = problem ?? (turned === null ? error : offError(name, turned));
    return { name, sent, dead, waiting, nextAt, error: why };
  });
