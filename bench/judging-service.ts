// A service that judges requests by a sliding and by a fixed minute at once, and refuses with 429 what exceeds either.
import { createServer } from "node:http";

export interface Judgement {
  readonly remaining: number;
  /** Until the stricter window has room for everything again, ms. */
  readonly resetsInMs: number;
}

export interface JudgingService {
  readonly url: string;
  /** When requests arrived, ms since the epoch, refused ones not counted. */
  readonly arrivals: readonly number[];
  refusals(): number;
  close(): Promise<void>;
}

const WINDOW_MS = 60_000;

/** `perMinute` requests are allowed; answers take `latencyMs`. */
export const startJudgingService = async (perMinute: number, latencyMs: () => number): Promise<JudgingService> => {
  const arrivals: number[] = [];
  let refusals = 0;
  const judge = (now: number): Judgement | null => {
    const windowEnd = (Math.floor(now / WINDOW_MS) + 1) * WINDOW_MS;
    const sliding = arrivals.filter((at) => at > now - WINDOW_MS).length;
    const fixed = arrivals.filter((at) => at >= windowEnd - WINDOW_MS).length;
    if (Math.max(sliding, fixed) >= perMinute) return null;
    arrivals.push(now);
    const remaining = perMinute - Math.max(sliding, fixed) - 1;
    return { remaining, resetsInMs: sliding > fixed ? WINDOW_MS : windowEnd - now };
  };
  const server = createServer((_request, response) => {
    const judgement = judge(Date.now());
    if (judgement === null) refusals += 1;
    setTimeout(() => {
      response.writeHead(judgement === null ? 429 : 200, { "content-type": "application/json" });
      response.end(JSON.stringify(judgement));
    }, latencyMs());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new TypeError("the service has no port");
  return {
    url: `http://127.0.0.1:${address.port}/`,
    arrivals,
    refusals: () => refusals,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
};
