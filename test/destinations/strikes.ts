// A mirror that moves, with each snapshot that it published, and deliveries of it during which the program or the storage is
// killed at a request.
import { expect } from "vitest";
import { withSource } from "../src/deliver/moving-mirror.ts";
import { seededRandom } from "../support/chance.ts";
import { aFolder } from "./a-lake.ts";
import type { CountingServer } from "./counting-server.ts";
import { type Kill, killDelivery, NEVER } from "./killed-delivery.ts";
import { move } from "./moving-mirror.ts";
import { snapshotOf } from "./places.ts";

/** Publishes a change; the tables of every snapshot by its position. */
export const aMovingMirror = (seed: number) => {
  const dataDir = aFolder();
  const random = seededRandom(seed);
  const published = new Map<string, Awaited<ReturnType<typeof snapshotOf>>>();
  const publish = async () => {
    await move(dataDir, random);
    const position = await withSource(dataDir, async (source) => source.position);
    published.set(JSON.stringify(position), await snapshotOf(dataDir));
  };
  return { dataDir, random, published, publish };
};

type Victim = "program" | "server" | "server, answer lost";

/** A server that can be killed keeps what it confirmed. */
interface Storage extends CountingServer {
  kill?(): Promise<void>;
  restart?(): Promise<void>;
}

/** Kills at request number `at`. Empty: the delivery ended before. */
export const strikeAtRequest = async (
  server: Storage,
  delivery: Omit<Kill, "moment" | "signal">,
  at: number,
  victim: Victim,
): Promise<string> => {
  const controller = new AbortController();
  let killed = "";
  let nth = 0;
  let back: Promise<unknown> = Promise.resolve();
  const kill = async () => {
    await server.kill?.();
    back = server.restart?.() ?? back;
  };
  server.rule = async ({ method, key }) => {
    nth += 1;
    if (nth === at + 1 && victim === "server, answer lost") {
      await kill();
      return "reset";
    }
    if (nth !== at) return "pass";
    killed = `${victim}: ${method} ${key.replace(/\/.*$/, "/…").replace(/-[0-9a-f-]{36}$/, "")}`;
    if (victim === "server, answer lost") return "lost";
    if (victim === "program") controller.abort();
    else await kill();
    return "reset";
  };
  const { signal } = controller;
  const ended = await killDelivery({ ...delivery, moment: NEVER, signal });
  await back;
  server.rule = null;
  // 5: the server was away for longer than requests are repeated.
  expect(victim === "program" ? [0, null] : [0, 5], ended.said).toContain(ended.code);
  return killed;
};
