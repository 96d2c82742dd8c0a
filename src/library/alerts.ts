// Alerts of the library: what `duckmirror alerts` lists, sends, tries and replays, as typed values.
import {
  type AlertState,
  type AlertsConfig,
  type AlertsContext,
  alertsJob,
  listAlerts,
  replayAlert,
  testAlert,
} from "../../jobs/alerts.ts";
import type { AlertEvent } from "../alerts/message.ts";
import type { RulePass } from "../alerts/run-rule.ts";
import { systemClock } from "../core/clock.ts";
import type { DuckmirrorError } from "../core/errors.ts";

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
  readonly event: "changes" | "run_failed" | "data_old" | "credits_short";
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

/** What an alert rule finds, and whether its receiver took a test message. */
export interface AlertTestReport {
  /** In the last 10,000 changes, or what is true now. */
  readonly found: readonly Omit<AlertEvent, "id">[];
  readonly taken: boolean;
  readonly error: DuckmirrorError | null;
}

/** The setting `alerts` at work; see docs/ALERTS.md. Each rejects with ALERTS_MISSING or ALERT_UNKNOWN. */
export interface Alerts {
  /** The rules and what they keep. `names` unset: all. */
  list(names?: readonly string[]): Promise<readonly AlertReport[]>;
  /**
   * Evaluates rules and sends what they found. Also resolves when some failed: see `error` of each. Rejects with the
   * reason of `signal`.
   */
  send(request?: { readonly names?: readonly string[]; readonly signal?: AbortSignal }): Promise<readonly RulePass[]>;
  /** Sends a test message with what the rule finds. Rejects with SNAPSHOT_MISSING, QUERY_FAILED, QUERY_LIMIT. */
  test(name: string, request?: { readonly signal?: AbortSignal }): Promise<AlertTestReport>;
  /**
   * Sends dead and waiting messages again, and turns the rule on; `after`: also evaluates the changes behind this number
   * again. Rejects with ALERT_BUSY.
   */
  replay(name: string, request?: { readonly after?: number; readonly signal?: AbortSignal }): Promise<RulePass>;
}

const reportOf = ({ rule, position, waiting, dead }: AlertState): AlertReport => {
  const { after, active, off, problem, sent, failed } = position;
  const first = waiting[0]?.message;
  return {
    name: rule.name,
    event: rule.event,
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

const contextWith = (signal = new AbortController().signal): AlertsContext => ({
  clock: systemClock,
  random: Math.random,
  signal,
});

export const createAlerts = (config: AlertsConfig): Alerts => ({
  list: async (names = []) => (await listAlerts(config, names)).map(reportOf),
  send: ({ names = [], signal } = {}) => alertsJob(config, names, contextWith(signal)),
  test: async (name, { signal } = {}) => {
    const { found, taken, error } = await testAlert(config, name, contextWith(signal));
    return { found: found.map(({ id: _, ...event }) => event), taken, error };
  },
  replay: (name, { after, signal } = {}) => replayAlert(config, { name, after: after ?? null }, contextWith(signal)),
});
