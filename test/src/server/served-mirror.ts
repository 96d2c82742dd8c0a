// A mirror of a small sandbox, made once per test file by a real sync, and a server over it without a socket.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type SyncRequest, syncJob } from "../../../jobs/sync.ts";
import { systemClock } from "../../../src/core/clock.ts";
import type { Config } from "../../../src/core/config/config.ts";
import { Secret } from "../../../src/core/secret.ts";
import { type Sandbox, startSandbox } from "../../../src/sandbox/sandbox.ts";
import { createServer, type Server } from "../../../src/server/app.ts";
import type { ServerOptions } from "../../../src/server/http/server-context.ts";
import { change } from "../../support/change-mirror.ts";
import { forFile } from "../../support/for-file.ts";
import { configOf } from "../../support/given-config.ts";
import { copyMigratedMirror } from "../../support/migrated-mirror.ts";
import { aServer, serving } from "../../support/served.ts";
import { dirForFile } from "../warehouse/temp-dir.ts";

export interface ServedMirror {
  readonly sandbox: Sandbox;
  readonly dataDir: string;
  readonly snapshot: string;
  readonly config: Config;
  sync(request?: Partial<SyncRequest>): Promise<void>;
  /** A server over the mirror; closed with it. */
  server(options?: Partial<ServerOptions>): Promise<Server>;
  close(): Promise<void>;
}

export const serveMirror = async (
  accounts = 5,
  settings: Readonly<Record<string, string>> = {},
  tier: "full" | "public" = "full",
): Promise<ServedMirror> => {
  const sandbox = await startSandbox({ accounts, tier, requestsPerMinute: 1_000_000, threads: 1 });
  const dataDir = mkdtempSync(join(tmpdir(), "duckmirror-served-"));
  await copyMigratedMirror(dataDir);
  const env = {
    DUCKMIRROR_BASE_URL: sandbox.url,
    DUCKMIRROR_TOKEN: sandbox.token,
    DUCKMIRROR_DATA_DIR: dataDir,
    DUCKMIRROR_RATE_LIMIT: "100000",
    ...settings,
  };
  const config = configOf(null, env);
  const never = new AbortController().signal;
  const sync = async (request: Partial<SyncRequest> = {}): Promise<void> => {
    const { error } = await syncJob(config, request, {
      clock: systemClock,
      random: () => 0.5,
      emit: () => undefined,
      signal: never,
      hardSignal: never,
      version: "0.0.0",
      token: new Secret(sandbox.token),
    });
    if (error !== null) throw error;
  };
  await sync();
  const snapshot = join(dataDir, "warehouse.duckdb");
  const servers: Server[] = [];
  return {
    sandbox,
    dataDir,
    snapshot,
    config,
    sync,
    server: async (options = {}) => {
      const profiles = [{ name: "default", snapshot, ratePerMinute: 300 }];
      const server = await createServer({ ...serving(), profiles, ...options });
      servers.push(server);
      return server;
    },
    close: async () => {
      for (const server of servers) await server.close();
      await sandbox.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
};

/** A mirror for the tests of a file, gone after the last of them. */
export const mirrorForFile = (...given: Parameters<typeof serveMirror>) => forFile(serveMirror(...given));

/** A published mirror without a row, for the tests of a file, and servers over it; each is closed after its test. */
export const emptyMirrorForFile = async () => {
  const dataDir = dirForFile();
  await change(dataDir, async () => undefined);
  return (options: Partial<ServerOptions> = {}): Promise<Server> =>
    aServer({ ...serving(join(dataDir, "warehouse.duckdb")), ...options });
};

/** Headers of a program on this machine. */
export const HERE = { host: "127.0.0.1:8737" };
