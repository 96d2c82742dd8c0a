// Connects a command to the worker, to request, show and cancel syncs: through the queue in Redis if there is one, else by HTTP to the
// worker's address.

import { randomBytes, X509Certificate } from "node:crypto";
import { Agent, request } from "node:http";
import { connect, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { z } from "zod";
import type { Config } from "../../core/config/config.ts";
import { resolveTls } from "../../core/config/secrets.ts";
import { type ListenAddress, listenText } from "../../core/config/setting-parsers.ts";
import { DuckmirrorError, detailOf } from "../../core/errors.ts";
import { jsonOrNull } from "../../core/json.ts";
import type { Fleet, UnableProfile } from "../../core/report/fleet.ts";
import { problemSchema } from "../../core/report/problem.ts";
import { syncProgress } from "../../core/report/sync-progress.ts";
import type { RequestedSync, TriggerRequest } from "../../core/report/triggers.ts";
import type { Secret } from "../../core/secret.ts";
import { runIdSchema } from "../../core/text/run-id.ts";
import { visible, withTexts } from "../../core/text/shown-text.ts";
import type { QueueControl } from "../../queue/dead-letters/dead-letters.ts";
import type { Queues } from "../../queue/redis/queues.ts";
import { errorOf, type ProfileStart, type Triggers } from "../../queue/requests/sync-requests.ts";
import { PROOF_PATH, proofSchema, provesKey } from "../../server/access/key-store.ts";
import type { CommandContext, Profiles } from "../command.ts";
import { keyForWorker } from "./access-keys.ts";

// One HTTP exchange with a worker. Over TLS the worker shows its certificate; over plain HTTP it proves that it knows the
// key before the key is sent, on the same connection.

// A TLS connection to a server that must have exactly one certificate: the one in the configuration of this machine. So a
// certificate that no authority signed is safe, and its name need not be that of the address.

/** Rejects with the error of the connection, or where the server shows another certificate. */
export const connectPinned = (
  { host, port }: { readonly host: string; readonly port: number },
  cert: string,
  signal: AbortSignal,
): Promise<TLSSocket> =>
  new Promise((resolve, reject) => {
    const wanted = new X509Certificate(cert).fingerprint256;
    const socket = connectTls({ host, port, rejectUnauthorized: false });
    const onAbort = () => void socket.destroy(new Error("no answer in time"));
    signal.addEventListener("abort", onAbort, { once: true });
    socket.once("error", reject).once("close", () => signal.removeEventListener("abort", onAbort));
    socket.once("secureConnect", () => {
      if (socket.getPeerX509Certificate()?.fingerprint256 === wanted) return resolve(socket);
      socket.destroy(new Error("the server shows another certificate than tls_cert_file holds"));
    });
  });

export interface WorkerPlace {
  readonly address: ListenAddress;
  /** PEM of its certificate; null: plain HTTP. */
  readonly cert: string | null;
  /** null: none is sent. */
  readonly key: Secret | null;
}

export interface WorkerCall {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON; null: none. */
  readonly body: string | null;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Sends every request over this one connection. */
class OnConnection extends Agent {
  readonly #socket: Socket;
  #isTaken = false;

  constructor(socket: Socket) {
    super({ keepAlive: true, maxSockets: 1 });
    this.#socket = socket;
  }

  override createConnection(): Socket {
    // What answers on another connection has proven nothing.
    if (this.#isTaken) throw new Error("the worker closed the connection");
    this.#isTaken = true;
    return this.#socket;
  }
}

const exchange = (agent: Agent, host: string, { method, path, body, headers }: WorkerCall, signal: AbortSignal) =>
  new Promise<Answer>((resolve, reject) => {
    const length = body === null ? {} : { "content-length": String(Buffer.byteLength(body)) };
    const sent = request({ agent, method, path, headers: { host, ...headers, ...length }, signal });
    sent.once("error", reject).once("response", (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      response.once("error", reject).once("end", () => resolve({ status: response.statusCode ?? 0, text }));
    });
    sent.end(body ?? undefined);
  });

/** Rejects if no complete answer comes before `signal` aborts. Follows no redirect. Throws WORKER_REFUSED without a proof. */
export const callWorker = async ({ address, cert, key }: WorkerPlace, call: WorkerCall, signal: AbortSignal) => {
  const socket = cert === null ? connect(address.port, address.host) : await connectPinned(address, cert, signal);
  const agent = new OnConnection(socket);
  const host = listenText(address);
  try {
    if (key !== null && cert === null) {
      const nonce = randomBytes(32).toString("hex");
      const asked = { method: "GET", path: `${PROOF_PATH}?nonce=${nonce}`, headers: {}, body: null };
      const { text } = await exchange(agent, host, asked, signal);
      const proof = proofSchema.safeParse(jsonOrNull(text)).data ?? { salt: "", proofs: [] };
      if (!(await provesKey(proof, key.reveal(), address.port, nonce))) {
        const detail = "what listens there did not prove that it knows the key, which was therefore not sent";
        throw new DuckmirrorError("WORKER_REFUSED", { address: host, detail });
      }
    }
    const auth: Record<string, string> = key === null ? {} : { authorization: `Bearer ${key.reveal()}` };
    return await exchange(agent, host, { ...call, headers: { ...auth, ...call.headers } }, signal);
  } finally {
    agent.destroy();
    socket.destroy();
  }
};

/** Time limit of a request to the worker, ms. */
const ANSWER_MS = 30_000;

export interface FleetConnection {
  readonly steering: QueueControl;
  /** Throws REDIS_UNAVAILABLE. */
  read(): Promise<Fleet>;
}

export interface WorkerConnection {
  readonly triggers: Triggers;
  /** null without Redis: nothing outlives the worker then. */
  readonly queues: Queues | null;
  /** All queues, members and pauses; null without Redis. */
  readonly fleet: FleetConnection | null;
  /** Asks the worker for syncs of all its profiles; null with Redis, where each is requested by itself. */
  readonly startAll: ((ask: TriggerRequest) => Promise<readonly ProfileStart[]>) | null;
  /** Profiles that a worker cannot sync, with the worker's host if there is Redis. */
  unable(): Promise<readonly (UnableProfile & { readonly host: string | null })[]>;
  close(): Promise<void>;
}

const startedShape = { run_id: runIdSchema, joined: z.boolean() };
const startedSchema = z.object(startedShape).transform(({ run_id: runId, joined }) => ({ runId, joined }));
const allStartedSchema = z.object({
  syncs: z.array(
    z.object({ ...startedShape, profile: z.string() }).transform(({ run_id: runId, ...rest }) => ({ ...rest, runId })),
  ),
});
const runSchema = z
  .object({
    run_id: runIdSchema,
    state: z.enum(["queued", "running", "done", "partial", "stopped", "failed", "cancelled"]),
    profile: z.string(),
    asked_at: z.number(),
    report: z.unknown(),
    error: problemSchema.nullable(),
    due_at: z.number().nullable(),
    progress: syncProgress.nullable(),
    paused: z.boolean().default(false),
  })
  .transform(({ run_id: runId, asked_at: askedAt, due_at: dueAt, report, ...rest }): RequestedSync => {
    return { ...rest, runId, askedAt, dueAt, report };
  });
const errorSchema = z.object({ error: problemSchema });

/** The address to call for a listen address. */
const callable = ({ host, port }: Config["listen"]) => {
  const reachable = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return { host: reachable, port };
};

const profilesSchema = z.object({
  profiles: z.array(z.object({ name: z.string(), problem: problemSchema.nullable() })),
});

/** A worker over HTTP. Its functions throw WORKER_UNREACHABLE, WORKER_REFUSED, and the worker's errors. */
export const httpWorker = (place: WorkerPlace): Pick<WorkerConnection, "triggers" | "startAll" | "unable"> => {
  const address = listenText(place.address);
  const call = async (method: string, path: string, more: Readonly<Record<string, string>> = {}, body?: unknown) => {
    const type: Record<string, string> = body === undefined ? {} : { "content-type": "application/json" };
    let status: number;
    let text: string;
    try {
      const sent = body === undefined ? null : JSON.stringify(body);
      const call = { method, path, headers: { ...type, ...more }, body: sent };
      ({ status, text } = await callWorker(place, call, AbortSignal.timeout(ANSWER_MS)));
    } catch (cause) {
      if (cause instanceof DuckmirrorError) throw cause;
      throw new DuckmirrorError("WORKER_UNREACHABLE", { address, detail: detailOf(cause) }, { cause });
    }
    // What answers is another program: its texts must not control the terminal.
    const parsed = withTexts(z.string().transform(jsonOrNull).pipe(z.unknown()).parse(text), visible);
    if (status < 300) return { status, body: parsed };
    if (status === 404 && method !== "POST") return { status, body: null };
    const problem = errorSchema.safeParse(parsed).data?.error;
    if (status === 401 || status === 403) {
      throw new DuckmirrorError("WORKER_REFUSED", { address, detail: problem?.message ?? `it answered ${status}` });
    }
    if (problem === undefined) {
      throw new DuckmirrorError("WORKER_UNREACHABLE", { address, detail: `it answered ${status}` });
    }
    throw errorOf(problem);
  };
  const post = async (
    ask: TriggerRequest,
    whose: { readonly profile: string | null } | { readonly all_profiles: true },
  ) => {
    const { streams, full, reset = [], since, idempotencyKey, traceparent, timeoutMs } = ask;
    const headers: Record<string, string> = {
      ...(idempotencyKey === null ? {} : { "idempotency-key": idempotencyKey }),
      ...(typeof traceparent === "string" ? { traceparent } : {}),
    };
    const timeout = typeof timeoutMs === "number" ? `${timeoutMs}ms` : undefined;
    return (await call("POST", "/api/syncs", headers, { streams, full, reset, since, timeout, ...whose })).body;
  };
  const triggers: Triggers = {
    start: async (ask) => startedSchema.parse(await post(ask, { profile: ask.profile })),
    find: async (runId) => {
      const { body } = await call("GET", `/api/syncs/${encodeURIComponent(runId)}`);
      return body === null ? null : runSchema.parse(body);
    },
    cancel: async (runId) => (await call("DELETE", `/api/syncs/${encodeURIComponent(runId)}`)).status < 300,
    active: async () => z.object({ runs: z.array(runSchema) }).parse((await call("GET", "/api/syncs")).body).runs,
  };
  return {
    triggers,
    startAll: async (ask) => allStartedSchema.parse(await post(ask, { all_profiles: true })).syncs,
    unable: async () => {
      const { profiles } = profilesSchema.parse((await call("GET", "/api/profiles")).body);
      return profiles.flatMap(({ name, problem }) =>
        problem === null ? [] : [{ profile: name, host: null, ...problem }],
      );
    },
  };
};

/** Opens the connection. Throws REDIS_UNAVAILABLE and the like; without Redis it calls nothing yet. */
export const connectWorker = async (profiles: Profiles, context: CommandContext): Promise<WorkerConnection> => {
  const [config] = profiles;
  if (config.redisUrl === null) {
    const key = await keyForWorker(config);
    if (key !== null) context.scrubber.hide(key);
    const cert = (await resolveTls(config))?.cert ?? null;
    return {
      ...httpWorker({ address: callable(config.listen), cert, key }),
      queues: null,
      fleet: null,
      close: async () => undefined,
    };
  }
  const { atRedis, openCommandConnection } = await import("../../queue/redis/queue-connections.ts");
  const { closeQueues, openQueues } = await import("../../queue/redis/queues.ts");
  const { createQueuedTriggers } = await import("../../queue/syncs/redis/queued-triggers.ts");
  const { clock } = context;
  const onError = () => undefined;
  // The worker warns about this Redis; a command that runs every few minutes does not repeat it.
  const connection = await openCommandConnection(config.redisUrl, () => undefined);
  const queues = openQueues(connection.redis, onError);
  const triggers = createQueuedTriggers({ connection, queues, profiles, clock, random: Math.random });
  const { readFleet } = await import("../../queue/fleet/fleet.ts");
  const { createQueueControl } = await import("../../queue/dead-letters/dead-letters.ts");
  const asking = createQueueControl(connection.redis, queues);
  const steering: QueueControl = {
    pause: (target) => atRedis(connection, () => asking.pause(target)),
    resume: (target) => atRedis(connection, () => asking.resume(target)),
  };
  const read = () => atRedis(connection, () => readFleet(connection.redis, queues));
  return {
    triggers,
    queues,
    startAll: null,
    unable: async () =>
      (await read()).members.flatMap(({ host, unable }) => unable.map((problem) => ({ ...problem, host }))),
    fleet: { steering, read },
    close: async () => {
      await closeQueues(queues);
      await connection.close();
    },
  };
};
