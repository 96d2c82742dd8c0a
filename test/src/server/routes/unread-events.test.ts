// GET /api/events: a page that listens gets the events of its profile; one that stops reading does not fill the memory.
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import type { SyncTriggers } from "../../../../src/core/report/triggers.ts";
import { aRunningServer, serving } from "../../../support/served.ts";

type Listener = Parameters<NonNullable<SyncTriggers["listen"]>>[0];

/** A server without a snapshot; `tell` is an event of a run. */
const listened = async () => {
  const listeners = new Set<Listener>();
  const triggers: SyncTriggers = {
    start: async () => ({ runId: "run_1", joined: false }),
    find: async () => null,
    cancel: async () => false,
    listen: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
  const { url } = await aRunningServer({ ...serving(), triggers });
  const page = async (): Promise<IncomingMessage> => {
    const request = get(`${url}/api/events`);
    request.on("error", () => undefined);
    const [response] = (await once(request, "response")) as [IncomingMessage];
    response.on("error", () => undefined);
    return response;
  };
  const tell = (stream: string, profile = "default") => {
    for (const listener of listeners)
      listener({ kind: "waiting", why: "retry", until: 0, stream: stream as "signals" }, { runId: "run_1", profile });
  };
  return { page, tell, listening: () => listeners.size };
};

test("events of the page's profile arrive, those of others do not", async () => {
  const { page, tell } = await listened();
  const response = await page();
  let text = "";
  response.setEncoding("utf8").on("data", (part: string) => {
    text += part;
  });
  tell("owners", "other");
  tell("accounts");
  while (!text.includes("accounts")) await once(response, "data");
  expect(text).toContain('event: run\ndata: {"run_id":"run_1","kind":"waiting"');
  expect(text).not.toContain("owners");
  response.destroy();
});

test("a page that reads nothing is cut off, and its place is free", async () => {
  const { page, tell, listening } = await listened();
  const own = listening();
  const response = await page();
  expect(listening()).toBe(own + 1);
  const closed = new Promise((resolve) => response.once("close", resolve));
  // All of it is unread: nothing is sent before this loop ends.
  for (let told = 0; told < 2_000; told++) tell("x".repeat(1_000));
  for (let turn = 0; turn < 1_000 && listening() > own; turn++) await setImmediate();
  expect(listening()).toBe(own);
  response.resume();
  await closed;
});
