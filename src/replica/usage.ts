// Responses of the replica's usage routes, from the usage tables: quota, totals, breakdown, request history, contracted limits. Source:
// API.md, "GET /v1/usage", "GET /v1/usage/requests", "GET /v1/usage/limits".
import { z } from "zod";
import { timeMs } from "../core/time.ts";
import { type Answer, dataAnswer, type Quota, quotaJson } from "./envelope.ts";
import { Binds } from "./query/filters.ts";
import type { Params } from "./query/params.ts";
import type { Reader } from "./reader.ts";
import { Refusal } from "./refusal.ts";

/** Half-open span of time, ms since the epoch. */
export interface TimeSpan {
  readonly name: "daily" | "monthly" | "custom";
  readonly from: number;
  readonly to: number;
}

const startOfDay = (now: number): number => Math.floor(now / 86_400_000) * 86_400_000;

/** First moment of a month in UTC, `offset` months from the month of `now`. */
export const monthStart = (now: number, offset = 0): number => {
  const date = new Date(now);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + offset, 1);
};

/** A bound that the route's parameter checks have accepted. */
const toMs = (text: string): number => {
  const at = timeMs(text);
  if (at === null) throw new TypeError(`${text} is no time`);
  return at;
};

/** The requested window; undefined: all time. Bounds without a window mean a custom one. */
export const timeSpanOf = (params: Params, now: number): TimeSpan | undefined => {
  const from = params.text("from");
  const to = params.text("to");
  const window = params.text("window");
  if (window === "custom" || (from !== undefined && window !== "daily")) {
    if (from === undefined || to === undefined) throw new Refusal("bad_request", "A custom window needs from and to.");
    return { name: "custom", from: toMs(from), to: toMs(to) };
  }
  if (window === "daily") return { name: "daily", from: startOfDay(now), to: startOfDay(now) + 86_400_000 };
  if (window === "monthly") return { name: "monthly", from: monthStart(now), to: monthStart(now, 1) };
  return undefined;
};

/** Conditions on `t.occurred_at`; undefined: all time. */
export const inTimeSpan = (span: TimeSpan | undefined, binds: Binds): readonly string[] =>
  span === undefined
    ? []
    : [
        `t.occurred_at >= make_timestamptz(CAST(${binds.bind(String(span.from * 1000))} AS BIGINT))`,
        `t.occurred_at < make_timestamptz(CAST(${binds.bind(String(span.to * 1000))} AS BIGINT))`,
      ];

const figures = {
  requests: z.number(),
  successful: z.number(),
  failed: z.number(),
};
const COUNTS = `count(*) AS requests, count(*) FILTER (t.successful) AS successful,
  count(*) FILTER (NOT t.successful) AS failed`;

const GROUPS: Readonly<Record<string, string>> = {
  endpoint: "t.endpoint",
  apiKey: "t.api_key_id",
  day: "strftime(t.occurred_at AT TIME ZONE 'UTC', '%Y-%m-%d')",
};

const readBreakdown = (reader: Reader, group: string, span: TimeSpan) => {
  const binds = new Binds();
  return reader.query(
    `SELECT coalesce(${group}, 'unknown') AS key, ${COUNTS} FROM main.usage_requests AS t
     WHERE ${inTimeSpan(span, binds).join(" AND ")} GROUP BY 1 ORDER BY 1`,
    binds.values,
    z.object({ key: z.string(), ...figures }),
  );
};

/** The latest quota reading of a mirror; undefined: none. */
export const lastQuota = async (reader: Reader) => {
  const rows = await reader.query(
    `SELECT t."limit", t.used, t.remaining, t.resets_at FROM main.usage_snapshots AS t
     ORDER BY t.captured_at DESC LIMIT 1`,
    [],
    z.object({
      limit: z.number().nullable(),
      used: z.number().nullable(),
      remaining: z.number().nullable(),
      resets_at: z.number().nullable(),
    }),
  );
  return rows[0];
};

/** A reading as the service's quota; zeros without any. */
export const quotaOf = (last: Awaited<ReturnType<typeof lastQuota>>, now: number): Quota => ({
  limit: last?.limit ?? 0,
  used: last?.used ?? 0,
  remaining: last?.remaining ?? 0,
  resetsAt: last?.resets_at ?? monthStart(now, 1),
});

/** GET /v1/usage. */
export const usageAnswer = async (reader: Reader, params: Params, now: number, quota: Quota): Promise<Answer> => {
  const span = timeSpanOf(params, now) ?? { name: "monthly", from: monthStart(now), to: monthStart(now, 1) };
  const binds = new Binds();
  const totals = await reader.query(
    `SELECT ${COUNTS} FROM main.usage_requests AS t WHERE ${inTimeSpan(span, binds).join(" AND ")}`,
    binds.values,
    z.object(figures),
  );
  const group = GROUPS[params.text("groupBy") ?? ""];
  const head = JSON.stringify({
    window: span.name,
    from: new Date(span.from).toISOString(),
    to: new Date(span.to).toISOString(),
    totals: totals[0],
    ...(group === undefined ? {} : { breakdown: await readBreakdown(reader, group, span) }),
  });
  return dataAnswer(`${head.slice(0, -1)},"quota":${quotaJson(quota)}}`, false);
};

/** GET /v1/usage/limits: the latest reading, or an empty object. */
export const limitsAnswer = async (reader: Reader): Promise<Answer> => {
  const rows = await reader.query(
    "SELECT CAST(t.data AS VARCHAR) AS data FROM main.usage_limits AS t ORDER BY t.captured_at DESC LIMIT 1",
    [],
    z.object({ data: z.string().nullable() }),
  );
  return dataAnswer(rows[0]?.data ?? "{}", false);
};
