// The second server: one service drawn from a seed, on a real socket, with its truth and a log of every request.
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type Answer, envelope, failedBody, refusal } from "./answer.ts";
import { createCredits } from "./credits.ts";
import { type Chance, chanceOf } from "./random.ts";
import { createRateWindow } from "./rate-window.ts";
import { answerRoute } from "./routes.ts";
import { createOwnLimits, drawOddity, type Oddity } from "./strangers.ts";
import { writeTime } from "./times.ts";
import { drawTraits, type Traits } from "./traits.ts";
import { drawFault, drawLatency, type Fault, send } from "./wire.ts";
import type { Workspace } from "./workspace.ts";
import { createWorld, type Row, type World } from "./world.ts";

/** Time as the service lives in it. */
export interface ServiceClock {
  now(): number;
  sleep(ms: number): Promise<void>;
  /** Something happened: time must not be skipped just now. */
  touch(): void;
}

export interface LoggedRequest {
  readonly at: number;
  readonly route: string;
  readonly url: string;
  /** 0: the connection was ended without an answer. */
  readonly status: number;
  readonly charged: boolean;
  readonly fault: Fault;
  readonly why: "rate" | "at-once" | "burst" | "quota" | "token" | "strange" | "";
  /** Requests that were under way when this one was answered. */
  readonly inFlight: number;
}

export interface SecondServer {
  readonly url: string;
  readonly token: string;
  readonly traits: Traits;
  readonly world: World;
  readonly workspace: Workspace;
  readonly log: readonly LoggedRequest[];
  setTier(tier: "full" | "public"): void;
  /** Faults, and a change at every so many requests (0: none), from now on. */
  setUnrest(unrest: { readonly faults: boolean; readonly changeEvery: number }): void;
  /** Called before every request is looked at, with the number of requests so far. */
  onRequest(listener: ((count: number) => void) | null): void;
  close(): Promise<void>;
}

const TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJvcmciOiJvcmcifQ.c2Vjb25kLXNlcnZlcg";

/** `/v1/companies/a%2Fb/filings` → ["companies", "a/b", "filings"]; null for a path that is none of this service. */
const segmentsOf = (pathname: string, prefix: string): readonly string[] | null => {
  if (!pathname.startsWith(`${prefix}/v1/`)) return null;
  const rest = pathname.slice(prefix.length + 4);
  return rest.split("/").map(decodeURIComponent);
};

const routeOf = (path: readonly string[]): string => {
  const [first = "", second, third] = path;
  if (first === "companies") return second === "by-input" ? "by-input" : (third ?? "company");
  if (first === "usage" || second === undefined) return path.join("/");
  return second === "counts" ? "signals/counts" : `${first}/{id}`;
};

const oldHistory = (traits: Traits, now: number): Row[] =>
  Array.from({ length: traits.credits.oldHistory }, (_, at) =>
    historyRow(traits, at, now - 86_400_000, "/v1/accounts", true),
  );

const historyRow = (traits: Traits, at: number, now: number, endpoint: string, successful: boolean): Row => ({
  key: String(at + 1),
  born: at,
  fields: {
    id: at + 1,
    occurredAt: writeTime(now, traits.times.moment, at),
    endpoint,
    successful,
    ...(successful ? {} : { error: "refused" }),
  },
});

export const startSecondServer = async (
  seed: number,
  clock: ServiceClock,
  traits = drawTraits(seed),
): Promise<SecondServer> => {
  const now = () => clock.now() + traits.times.skewMs;
  const credits = createCredits(traits, now());
  const rate = createRateWindow(traits);
  const ownLimits = createOwnLimits(traits.strangers, traits.rate.limit / traits.rate.windowMs);
  const history = oldHistory(traits, now());
  let tier: "full" | "public" = "full";
  let unrest = { faults: false, changeEvery: 0 };
  let listener: ((count: number) => void) | null = null;
  let count = 0;
  let inFlight = 0;
  const log: LoggedRequest[] = [];
  const workspace: Workspace = { traits, world: createWorld(traits, now), credits, history, now, tier: () => tier };

  /** A record or company that is not there may be called gone, or moved. */
  const statusOf = (status: number, path: readonly string[]): number => {
    if (status !== 404 || path.length < 2) return status;
    const moves = traits.strangers.companiesMove && path[0] === "companies" && path[1] !== "by-input";
    return moves ? 301 : traits.strangers.notFound;
  };
  const isForbidden = (path: readonly string[]): boolean =>
    routeOf(path) === traits.strangers.forbidden && (unrest.faults || !traits.strangers.forbiddenForNow);

  /** What a request gets, before the wire does its part. */
  const decide = (
    request: IncomingMessage,
    url: URL,
    path: readonly string[] | null,
    { fault, failsInBody, oddity }: { readonly fault: Fault; readonly failsInBody: boolean; readonly oddity: Oddity },
  ) => {
    const refuse = (answer: Answer, why: LoggedRequest["why"] = "") => ({ answer, why, charged: false });
    if (request.headers.authorization !== `Bearer ${TOKEN}`) return refuse(refusal(traits, 401, "bad token"), "token");
    const limit = ownLimits.refuses(now(), inFlight);
    if (limit !== null) {
      const why = limit === "at-once" ? "Too many concurrent requests" : "Slow down";
      // A limit on requests in flight that nothing names looks like any other.
      const shape = limit === "at-once" && traits.wire.errors === "empty" ? "flat" : traits.wire.errors;
      return refuse(refusal(traits, 429, why, { shape, headers: ownLimits.headers() }), limit);
    }
    if (!rate.admit(now())) {
      return refuse(refusal(traits, 429, "Too many requests", { headers: rate.refusalHeaders(now()) }), "rate");
    }
    if (fault === "500") return refuse(refusal(traits, 500, "oops"));
    if (fault === "503") return refuse(refusal(traits, 503, "busy"));
    if (fault === "503-wait") return refuse(refusal(traits, 503, "busy", { headers: { "Retry-After": "2" } }));
    if (fault === "reset") return refuse(refusal(traits, 500, "never sent"));
    if (oddity === "403-wait") {
      return refuse(refusal(traits, 403, "secondary limit", { headers: { "Retry-After": "3" } }), "strange");
    }
    if (oddity === "429-long") {
      return refuse(refusal(traits, 429, "come back later", { headers: { "Retry-After": "7200" } }), "strange");
    }
    if (path === null) return refuse(refusal(traits, 404, "no such route"));
    if (isForbidden(path)) return refuse(refusal(traits, 403, "the token lacks a scope"), "strange");
    if (credits.left(now()) <= 0) return refuse(credits.refuse(now()), "quota");
    const result = answerRoute(workspace, path, url.searchParams);
    if (!result.ok) {
      const status = statusOf(result.status, path);
      const headers = status === 301 ? { Location: `${traits.wire.prefix}/v1/${path[0]}/successor` } : {};
      return refuse(refusal(traits, status, result.why, { headers }));
    }
    credits.charge();
    if (failsInBody) return { answer: failedBody(traits), why: "" as const, charged: true };
    const usage = result.usage ? credits.usageBlock(now()) : null;
    const answer = envelope(traits, result, now(), `req-${count}`, usage);
    const headers = oddity === "headers" ? { ...answer.headers, "X-Debug": "x".repeat(17_000) } : answer.headers;
    return { answer: { ...answer, headers }, why: "" as const, charged: true };
  };

  const serve = async (request: IncomingMessage, response: ServerResponse, chance: Chance): Promise<void> => {
    const url = new URL(request.url ?? "/", "http://service.invalid");
    const path = segmentsOf(url.pathname, traits.wire.prefix);
    const route = path === null ? "none" : routeOf(path);
    const fault = unrest.faults ? drawFault(traits, chance) : "none";
    const failsInBody = unrest.faults && chance.named("body").often(traits.strangers.errorBodies);
    const oddity = unrest.faults ? drawOddity(traits.strangers, chance.named("oddity")) : "none";
    const { answer, why, charged } = decide(request, url, path, { fault, failsInBody, oddity });
    if (charged || traits.credits.historyHasRefused) {
      history.push(historyRow(traits, history.length, now(), `/v1/${route}`, charged));
    }
    const rateHeaders = rate.headers(now());
    const broken = fault === "reset" || (fault === "reset-charged" && charged);
    await clock.sleep(drawLatency(traits, chance));
    log.push({
      at: now(),
      route,
      url: request.url ?? "",
      status: broken ? 0 : answer.status,
      charged,
      fault,
      why,
      inFlight,
    });
    if (broken) {
      request.socket.destroy();
      return;
    }
    send(
      response,
      { ...answer, headers: { ...answer.headers, ...rateHeaders } },
      {
        accepted: String(request.headers["accept-encoding"] ?? ""),
        traits,
        date: new Date(now()).toUTCString(),
        cut: fault === "cut" && charged,
      },
    );
  };

  const server = createServer((request, response) => {
    clock.touch();
    count += 1;
    inFlight += 1;
    listener?.(count);
    const chance = chanceOf(`${seed}/request/${count}`);
    if (unrest.changeEvery > 0 && count % unrest.changeEvery === 0)
      workspace.world.change(chance.named("change"), false);
    request.resume();
    void serve(request, response, chance).finally(() => {
      inFlight -= 1;
      clock.touch();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new TypeError("the server has no port");
  return {
    url: `http://127.0.0.1:${address.port}${traits.wire.prefix}`,
    token: TOKEN,
    traits,
    world: workspace.world,
    workspace,
    log,
    setTier: (next) => {
      tier = next;
    },
    setUnrest: (next) => {
      unrest = next;
    },
    onRequest: (next) => {
      listener = next;
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
};
