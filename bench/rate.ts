// Case rate: how long work takes under a limit, of the least that the limit allows, and how many requests are refused. The
// program's own limiter on virtual time; then, where Python is there, duckmirror and its peers in one real run.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atMost, type BenchCase, type Figure } from "./case.ts";
import { clientsOf } from "./peer-clients.ts";
import { startPeerService } from "./peer-control.ts";
import { atARate, lowerBound } from "./peer-measures.ts";
import { peerEnvironments } from "./peer-setup.ts";
import { type Finish, finish, type Service, serviceOf } from "./rates/finish.ts";
import { SILENT, TELLS } from "./rates/headers.ts";
import { fixedWindow, type Limit, type Limiting, slidingWindow, tokenBucket } from "./rates/services.ts";

const MINUTE_MS = 60_000;
const REQUESTS = [3, 20, 100, 484];
const LIMITS = [10, 60, 120, 300];
/** Processes that share a limiter. */
const PROCESSES = [1, 8];
const LATENCIES_MS = [20, 50];
const WINDOWS: Readonly<Record<string, (limit: Limit) => Limiting>> = {
  sliding: (limit) => slidingWindow(limit, "oldest"),
  fixed: (limit) => fixedWindow(limit, 0),
};
/** The limit is in the headers, or in the settings. */
const KNOWN = [
  { how: "announced", dialect: TELLS, configured: () => null },
  { how: "configured, nothing announced", dialect: SILENT, configured: (limit: number) => limit },
];

const perMinute = (limit: number): Limit => ({ limit, windowMs: MINUTE_MS });
const boundMs = (requests: number, limit: number) => Math.floor((requests - 1) / limit) * MINUTE_MS;
const most = (values: readonly number[]) => values.reduce((a, b) => Math.max(a, b), 0);
const shown = (measure: string, value: string): Figure => ({ measure, value, aim: "", reached: null });
const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;

/** One line per limit: each number of requests at its slowest, over both windows, one process and eight, two latencies. */
const windows = async (): Promise<readonly Figure[]> => {
  const figures: Figure[] = [];
  let refused = 0;
  for (const { how, dialect, configured } of KNOWN) {
    for (const limit of LIMITS) {
      const cells: string[] = [];
      let slowest = 0;
      for (const requests of REQUESTS) {
        const bound = boundMs(requests, limit);
        const took: number[] = [];
        for (const make of Object.values(WINDOWS)) {
          for (const processes of PROCESSES) {
            for (const latencyMs of LATENCIES_MS) {
              const service = serviceOf([make(perMinute(limit))]);
              const work = { requests, service, dialect, configured: configured(limit), processes, latencyMs };
              const end = await finish(work);
              refused += end.refused;
              took.push(end.tookMs);
            }
          }
        }
        cells.push(`${requests}: ${seconds(most(took))} of ${bound / 1000}`);
        if (bound > 0) slowest = Math.max(slowest, most(took) / bound);
      }
      figures.push(shown(`${limit} a minute, ${how}: time for requests, of the bound`, cells.join(" · ")));
      if (slowest > 0) figures.push(atMost(`${limit} a minute, ${how}: slowest, of the bound`, slowest, 1.05, " ×", 3));
    }
  }
  return [...figures, atMost("sliding and fixed windows: answers with 429", refused, 0, "", 0)];
};

/** Buckets of a token, a fifth and a half of the rate. */
const buckets = async (): Promise<readonly Figure[]> => {
  const figures: Figure[] = [];
  for (const { how, dialect, configured } of KNOWN) {
    for (const limit of LIMITS) {
      const ends: Finish[] = [];
      for (const burst of [1, limit / 5, limit / 2]) {
        for (const latencyMs of LATENCIES_MS) {
          const service = serviceOf([tokenBucket(perMinute(limit), burst, "full", "rate")]);
          ends.push(await finish({ requests: 484, service, dialect, configured: configured(limit), latencyMs }));
        }
      }
      const refused = most(ends.map((end) => end.refused));
      figures.push(atMost(`token bucket, ${limit} a minute, ${how}: answers with 429`, refused, 1, "", 0));
    }
  }
  return figures;
};

/** A limit that becomes another one after 150 requests; the new window knows the requests of the old one. */
const changing = (from: number, to: number): Service => {
  const rules = [slidingWindow(perMinute(from), "oldest"), slidingWindow(perMinute(to), "oldest")];
  let taken = 0;
  return {
    take: (now) => {
      taken += 1;
      const counts = rules.map((rule) => rule.take(now));
      return counts[taken > 150 ? 1 : 0] ?? null;
    },
  };
};

const CHAOS = {
  "a window half as large as announced": () => ({
    service: serviceOf([fixedWindow(perMinute(60), 0)], (count) => ({
      ...count,
      limit: 120,
      remaining: count.remaining + 60,
    })),
  }),
  "remaining that never falls": () => ({
    service: serviceOf([slidingWindow(perMinute(60), "oldest")], (count) => ({ ...count, remaining: 59 })),
  }),
  "a clock an hour ahead": () => ({
    service: serviceOf([fixedWindow(perMinute(60), 0)]),
    skewMs: 3_600_000,
  }),
  "a limit that falls from 120 to 60": () => ({ service: changing(120, 60) }),
  "a limit that rises from 60 to 120": () => ({ service: changing(60, 120) }),
} satisfies Record<string, () => { readonly service: Service; readonly skewMs?: number }>;

const chaos = async (): Promise<readonly Figure[]> => {
  const figures: Figure[] = [];
  for (const [name, make] of Object.entries(CHAOS)) {
    const end = await finish({ requests: 300, dialect: TELLS, configured: null, ...make() });
    figures.push(
      atMost(`${name}: answers with 429 in a row`, end.mostInRow, 3, "", 0),
      atMost(`${name}: longest time without an answer, of a window`, end.longestPauseMs / MINUTE_MS, 1.1, " ×"),
    );
  }
  return figures;
};

const PEERS_PER_MINUTE = 300;
/** So many accounts have lists of about 484 pages. */
const PEER_ACCOUNTS = 617;
const PER_PAGE = 50;
const GIVE_UP_MS = 150_000;

/** duckmirror and its peers at the same time, each with a minute of its own, in real time. */
const besidePeers = async (): Promise<readonly Figure[]> => {
  const environments = peerEnvironments();
  if (typeof environments === "string") return [shown("peers", `not measured: ${environments}`)];
  const { duckmirror, dlt, singer, script } = clientsOf(environments);
  const dir = await mkdtemp(join(tmpdir(), "duckmirror-bench-rate-"));
  const service = await startPeerService(PEER_ACCOUNTS, 10, "organization");
  try {
    const rows = await service.rows();
    const pages = lowerBound(rows, PER_PAGE);
    const field = { service, lists: "organization", perPage: PER_PAGE, dir } as const;
    const ends = await atARate(field, [duckmirror, dlt, singer, script], PEERS_PER_MINUTE, GIVE_UP_MS);
    const own = ends.get(duckmirror.name);
    const others = [...ends].filter(([name, { failed }]) => name !== duckmirror.name && !failed);
    const fastest = Math.min(...others.map(([, { requestsMs }]) => requestsMs));
    const what = `${pages} pages, ${PEERS_PER_MINUTE} a minute, four clients at once`;
    const all = [...ends].map(([name, end]) =>
      end.failed ? `${name} gave up` : `${name} ${seconds(end.requestsMs)}, ${end.refused} × 429`,
    );
    return [
      shown(`${what}: from the first request to the last answer`, all.join(" · ")),
      atMost(`${what}: duckmirror, of the fastest peer`, (own?.requestsMs ?? Number.NaN) / fastest, 1.05, " ×", 3),
      atMost(`${what}: answers with 429 for duckmirror`, own?.refused ?? Number.NaN, 0, "", 0),
    ];
  } finally {
    await service.close();
    await rm(dir, { recursive: true, force: true });
  }
};

export const rate: BenchCase = {
  id: "rate",
  title: `Time under a limit: ${REQUESTS.join(", ")} requests at ${LIMITS.join(", ")} a minute, answers in ${LATENCIES_MS.join(" or ")} ms`,
  run: async () => [...(await windows()), ...(await buckets()), ...(await chaos()), ...(await besidePeers())],
};
