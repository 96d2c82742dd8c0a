// What the client's tests share: a misbehaving service per test, clients that are closed after it, a few values.
import { afterEach, beforeEach, vi } from "vitest";
import { type Client, type ClientOptions, createClient } from "../../../src/api/client.ts";
import type { ApiCall } from "../../../src/api/outcome.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { type ScriptedServer, startScriptedServer } from "../../support/scripted-server.ts";

export const TOKEN = "eyJhbGciOiJIUzI1NiJ9.e30.c2VjcmV0LXNpZ25hdHVyZQ";
export const LIST: ApiCall = { endpoint: "listAccounts", path: "/v1/accounts", query: { page: "1" } };
export const PAGE = { data: [{ id: 1 }], meta: { page: 1, perPage: 20, totalCount: 1, totalPages: 1 } };
export const PADDED = JSON.stringify({ ...PAGE, padding: "x".repeat(10_000) });

/** The service of the running test. */
export let server: ScriptedServer;
const clients: Client[] = [];
/** A client of that service, closed after the test. */
export const client = (options: Partial<ClientOptions> = {}): Client => {
  const made = createClient({ baseUrl: server.origin, token: TOKEN, version: "1.2.3", clock: systemClock, ...options });
  clients.push(made);
  return made;
};

/** Gives every test of the file a service of its own. */
export const useService = (): void => {
  beforeEach(async () => {
    // The proxies of the machine that runs the tests have no part in them.
    for (const name of ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"]) {
      vi.stubEnv(name, "");
      vi.stubEnv(name.toLowerCase(), "");
    }
    server = await startScriptedServer();
  });
  afterEach(async () => {
    await server.close();
    await Promise.all(clients.splice(0).map((made) => made.close()));
    vi.unstubAllEnvs();
  });
};
