// A client generated from the sandbox's OpenAPI document by a public generator works unchanged against the mirror.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@hey-api/openapi-ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { systemClock } from "../../../src/core/clock.ts";
import { type RunningServer, startServer } from "../../../src/server/listen.ts";
import { type ServedMirror, serveMirror } from "./served-mirror.ts";

const result = z.object({
  data: z.unknown().optional(),
  error: z.unknown().optional(),
  response: z.instanceof(Response),
});
const operation = z.custom<(options: unknown) => Promise<unknown>>((value) => typeof value === "function");
const generated = z.record(z.string(), z.unknown());
const configurable = z.object({ client: z.object({ setConfig: operation }).loose() });

let mirror: ServedMirror;
let server: RunningServer;
const folder = mkdtempSync(join(tmpdir(), "duckmirror-client-"));

beforeAll(async () => {
  mirror = await serveMirror();
  const { snapshot } = mirror;
  const profiles = [{ name: "default", snapshot, ratePerMinute: null }];
  const options = { profiles, key: null, clock: systemClock, version: "1", onFault: () => undefined };
  server = await startServer(options, { host: "127.0.0.1", port: 0 });
  await createClient({ input: `${mirror.sandbox.url}/openapi.json`, output: folder, logs: { level: "silent" } });
});
afterAll(async () => {
  await server.close();
  await mirror.close();
  rmSync(folder, { recursive: true, force: true });
});

/** What the generated operations answer, from one base address. */
const clientAt = async (baseUrl: string, auth: string) => {
  const sdk = generated.parse(await import(join(folder, "sdk.gen.ts")));
  const { client } = configurable.parse(await import(join(folder, "client.gen.ts")));
  client.setConfig({ baseUrl, auth });
  return async (name: string, options: unknown = {}) => result.parse(await operation.parse(sdk[name])(options));
};

test("the same calls give the same data from the service and from the mirror", async () => {
  const calls: readonly (readonly [name: string, options: unknown])[] = [
    ["accounts", { query: { perPage: 2, sortBy: "name", sortOrder: "asc", include: "company" } }],
    ["contacts", { query: { perPage: 5, sortBy: "id", changeType: "promotion" } }],
    ["signals", { query: { perPage: 5, type: "funding-alert", onlyWithFields: "id,headline" } }],
    ["signalCounts", {}],
    ["accountInsight", { query: { accountId: 1 } }],
    ["account", { path: { accountId: 424242 } }],
  ];
  const ask = async (url: string, token: string) => {
    const call = await clientAt(url, token);
    const answers = [];
    for (const [name, options] of calls) {
      const { data, response } = await call(name, options);
      const body = generated.parse(data ?? {});
      answers.push({ name, status: response.status, data: body.data ?? null, included: body.included ?? null });
    }
    return answers;
  };
  const there = await ask(mirror.sandbox.url, mirror.sandbox.token);
  expect(await ask(server.url, "any token")).toEqual(there);
  expect(there.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 404]);
});
