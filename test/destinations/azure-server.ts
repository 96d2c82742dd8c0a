// azurite, Microsoft's emulator of Azure Storage, behind a server that counts. Its account is one of these tests.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CountingServer, mortal, portOf, startCounting } from "./counting-server.ts";

export const ACCOUNT = "duckmirrortests";
export const KEY = Buffer.from("the key of these tests, which no other account has").toString("base64");

export interface AzureServer extends CountingServer {
  stop(): Promise<void>;
}

const BUSY = "<?xml version='1.0'?><Error><Code>ServerBusy</Code><Message>The server is busy.</Message></Error>";

/** Starts both. `program`: from azurite-installed.ts. */
export const startAzure = async (program: string): Promise<AzureServer> => {
  const folder = mkdtempSync(join(tmpdir(), "duckmirror-azurite-"));
  // The SDK names a version of the protocol that is newer than this azurite.
  const options = ["--inMemoryPersistence", "--disableTelemetry", "--silent", "--skipApiVersionCheck"];
  const azurite = spawn(process.execPath, [program, "--blobPort", "0", ...options], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: process.env.PATH, HOME: folder, AZURITE_ACCOUNTS: `${ACCOUNT}:${KEY}` },
  });
  const kill = mortal(azurite);
  const port = await portOf(azurite, /listens on http:\/\/127\.0\.0\.1:(\d+)/);
  const counting = await startCounting({ port: () => port, partsBeforeKey: 2, busy: BUSY });
  return Object.assign(counting, {
    stop: async () => {
      counting.close();
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  });
};
