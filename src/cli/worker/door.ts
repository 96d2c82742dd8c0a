// The way to the worker for commands that ask something of it: straight to the queue where there is a Redis, else over
// HTTP to the worker's own address.
import { z } from "zod";
import { problemSchema } from "../../../jobs/family.ts";
import type { Config } from "../../core/config/config.ts";
import { listenText } from "../../core/config/listen-address.ts";
import { resolveServerKey } from "../../core/config/server-key.ts";
import { resolveTls } from "../../core/config/tls-files.ts";
import { DuckmirrorError, detailOf } from "../../core/errors.ts";
import type { Secret } from "../../core/secret.ts";
import { syncProgress } from "../../core/sync-progress.ts";
import { type AskedSync, errorOf, type Triggers } from "../../queue/asks.ts";
import type { Queues } from "../../queue/bullmq/queues.ts";
import type { CommandContext } from "../command.ts";
import { callWorker, type WorkerPlace } from "./call-worker.ts";

/** A request to the worker may take so long, ms. */
const ANSWER_MS = 30_000;

export interface WorkerDoor {
  readonly triggers: Triggers;
  /** null without Redis: then nothing outlives the worker. */
  readonly queues: Queues | null;
  close(): Promise<void>;
}

const startedSchema = z.object({ run_id: z.string(), joined: z.boolean() });
const runSchema = z
  .object({
    run_id: z.string(),
    state: z.enum(["queued", "running", "done", "partial", "stopped", "failed", "cancelled"]),
    profile: z.string(),
    asked_at: z.number(),
    report: z.unknown(),
    error: problemSchema.nullable(),
    // A worker of an older version does not say.
    due_at: z.number().nullable().default(null),
    progress: syncProgress.nullable().default(null),
  })
  .transform(({ run_id: runId, asked_at: askedAt, due_at: dueAt, report, ...rest }): AskedSync => {
    return { ...rest, runId, askedAt, dueAt, report };
  });
const errorSchema = z.object({ error: problemSchema });

/** An address others listen on, as one that can be called. */
const callable = ({ host, port }: Config["listen"]) => {
  const reachable = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return { host: reachable, port };
};

/** Triggers of a worker over HTTP. Throws WORKER_UNREACHABLE, WORKER_REFUSED, and what the worker answers. */
export const httpTriggers = (place: WorkerPlace, key: Secret | null): Triggers => {
  const address = listenText(place.address);
  const call = async (method: string, path: string, more: Readonly<Record<string, string>> = {}, body?: unknown) => {
    const auth: Record<string, string> = key === null ? {} : { authorization: `Bearer ${key.reveal()}` };
    const type: Record<string, string> = body === undefined ? {} : { "content-type": "application/json" };
    let status: number;
    let text: string;
    try {
      const sent = body === undefined ? null : JSON.stringify(body);
      const call = { method, path, headers: { ...auth, ...type, ...more }, body: sent };
      ({ status, text } = await callWorker(place, call, AbortSignal.timeout(ANSWER_MS)));
    } catch (cause) {
      throw new DuckmirrorError("WORKER_UNREACHABLE", { address, detail: detailOf(cause) }, { cause });
    }
    const parsed = z.string().transform(parseJson).pipe(z.unknown()).parse(text);
    if (status < 300) return { status, body: parsed };
    if (status === 404 && method !== "POST") return { status, body: null };
    const told = errorSchema.safeParse(parsed).data?.error;
    if (status === 401 || status === 403) {
      throw new DuckmirrorError("WORKER_REFUSED", { address, detail: told?.message ?? `it answered ${status}` });
    }
    if (told === undefined) {
      throw new DuckmirrorError("WORKER_UNREACHABLE", { address, detail: `it answered ${status}` });
    }
    throw errorOf(told);
  };
  return {
    start: async ({ streams, full, profile, idempotencyKey, traceparent, timeoutMs }) => {
      const headers: Record<string, string> = {
        ...(idempotencyKey === null ? {} : { "idempotency-key": idempotencyKey }),
        ...(typeof traceparent === "string" ? { traceparent } : {}),
      };
      // Only said where it is asked for: a worker of an older version refuses what it does not know.
      const timed = typeof timeoutMs === "number" ? { timeout: `${timeoutMs}ms` } : {};
      const { body } = await call("POST", "/api/syncs", headers, { streams, full, profile, ...timed });
      const { run_id: runId, joined } = startedSchema.parse(body);
      return { runId, joined };
    },
    find: async (runId) => {
      const { body } = await call("GET", `/api/syncs/${encodeURIComponent(runId)}`);
      return body === null ? null : runSchema.parse(body);
    },
    cancel: async (runId) => (await call("DELETE", `/api/syncs/${encodeURIComponent(runId)}`)).status < 300,
    active: async () => z.object({ runs: z.array(runSchema) }).parse((await call("GET", "/api/syncs")).body).runs,
  };
};

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
};

/** Opens the door. Throws REDIS_UNAVAILABLE and the like; without Redis nothing is called yet. */
export const openDoor = async (profiles: readonly Config[], context: CommandContext): Promise<WorkerDoor> => {
  const [config] = profiles;
  if (config === undefined) throw new DuckmirrorError("UNEXPECTED", { detail: "there is no profile" });
  if (config.redisUrl === null) {
    const key = await resolveServerKey(config, true);
    if (key !== null) context.scrubber.hide(key);
    const cert = (await resolveTls(config))?.cert ?? null;
    const place = { address: callable(config.listen), cert };
    return { triggers: httpTriggers(place, key), queues: null, close: async () => undefined };
  }
  const { openAsking } = await import("../../queue/bullmq/connection.ts");
  const { closeQueues, openQueues } = await import("../../queue/bullmq/queues.ts");
  const { createQueuedTriggers } = await import("../../queue/bullmq/queued-triggers.ts");
  const { clock } = context;
  const onError = () => undefined;
  const connection = await openAsking(config.redisUrl, (text) => {
    if (!context.shared.quiet) context.terminal.err(`warning: ${text}\n`);
  });
  const queues = openQueues(connection.redis, onError);
  const triggers = createQueuedTriggers({ connection, queues, profiles, clock, random: Math.random, onError });
  return {
    triggers,
    queues,
    close: async () => {
      await closeQueues(queues);
      await triggers.close().catch(onError);
      await connection.close();
    },
  };
};
