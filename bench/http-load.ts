// Loads of a server that answers GET, and how long its answers take. A closed load: every client asks again once it has
// its answer, so the server decides how many requests there are. An offered load: requests have their moments, however
// long the answers before them take, and the time of an answer counts from its moment.
import { setTimeout as delay } from "node:timers/promises";
import { Pool } from "undici";

export interface LoadOptions {
  readonly url: string;
  readonly connections: number;
  readonly durationMs: number;
  /** Takes the number of the request. */
  readonly path: (n: number) => string;
  /** Goes on from load to load: a repeated page would be a kept one. */
  readonly numbers: { next: number };
}

export interface Load {
  readonly perSecond: number;
  /** ms. */
  readonly p50: number;
  readonly p99: number;
}

const ask = async (pool: Pool, path: string): Promise<void> => {
  const { statusCode, body } = await pool.request({ path, method: "GET" });
  await body.dump();
  if (statusCode !== 200) throw new Error(`${path}: ${statusCode}`);
};

const loadOf = (times: number[], ms: number): Load => {
  const sorted = times.sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
  return { perSecond: (times.length * 1000) / ms, p50: at(0.5), p99: at(0.99) };
};

/** As many clients as connections; each asks one request after the other for `durationMs`. */
export const closedLoad = async ({ url, connections, durationMs, path, numbers }: LoadOptions): Promise<Load> => {
  const pool = new Pool(url, { connections });
  const times: number[] = [];
  const start = performance.now();
  const client = async () => {
    while (performance.now() - start < durationMs) {
      const sent = performance.now();
      await ask(pool, path(numbers.next++));
      times.push(performance.now() - sent);
    }
  };
  await Promise.all(Array.from({ length: connections }, client));
  const ms = performance.now() - start;
  await pool.close();
  return loadOf(times, ms);
};

/**
 * `perSecond` requests a second at moments that `random` scatters, as clients that know nothing of each other ask. A
 * request whose moment finds every connection busy waits, and its wait is a part of its time.
 */
export const offeredLoad = async (
  { url, connections, durationMs, path, numbers }: LoadOptions,
  perSecond: number,
  random: () => number,
): Promise<Load> => {
  const pool = new Pool(url, { connections });
  const times: number[] = [];
  const answers: Promise<void>[] = [];
  const failures: unknown[] = [];
  const start = performance.now();
  const gap = () => (-Math.log(1 - random()) * 1000) / perSecond;
  for (let moment = gap(); moment < durationMs; moment += gap()) {
    const early = start + moment - performance.now();
    if (early > 0) await delay(early);
    const due = start + moment;
    const answer = ask(pool, path(numbers.next++)).then(() => void times.push(performance.now() - due));
    answers.push(answer.catch((error) => void failures.push(error)));
  }
  await Promise.all(answers);
  if (failures.length > 0) throw failures[0];
  const ms = performance.now() - start;
  await pool.close();
  return loadOf(times, ms);
};
