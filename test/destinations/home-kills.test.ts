// A mirror whose home is a bucket of moto, an imitation of S3: workers take it from each other, and workers and S3 server are
// killed at random requests. KILLS=200 for more. Shows P33.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { readLocalNote } from "../../src/deliver/home/mirror-home.ts";
import { seededRandom } from "../support/chance.ts";
import { anOrganization } from "../support/fake-data.ts";
import { startFakeServer } from "../support/fake-server.ts";
import { createFakeService } from "../support/fake-service.ts";
import { dumpMirror } from "../support/mirror-dump.ts";
import { aFolder } from "./a-lake.ts";
import { createTally } from "./killed-delivery.ts";
import { AWS_ENV, aBucket, stubAws } from "./places.ts";
import { type S3Server, startS3 } from "./s3-server.ts";

let s3: S3Server;
beforeAll(async () => {
  stubAws();
  s3 = await startS3(inject("destinationsVenv"));
});
afterAll(() => s3?.stop());

const KILLS = Number(process.env.KILLS ?? "4");
const WORKERS = 3;

test(`after ${KILLS} kills of workers and of the S3 server the mirror equals its source, whoever goes on with it`, async () => {
  const service = createFakeService(anOrganization(12), { maxPerPage: 5 });
  const server = await startFakeServer(service);
  const bucket = await aBucket(s3, "homes");
  const home = `s3://homes/set/crm?path_style=true&endpoint=${encodeURIComponent(s3.endpoint)}`;
  const dirs = Array.from({ length: WORKERS }, () => join(aFolder(), "data"));
  const random = seededRandom(Number(process.env.SEED ?? "5"));
  const tally = createTally();

  const sync = async (dataDir: string, signal?: AbortSignal, more: Record<string, string> = {}) => {
    const argv = [inject("builtCli"), "sync", "accounts", "contacts", "signals", "--quiet", "--data-dir", dataDir];
    const child = spawn(process.execPath, argv, {
      cwd: aFolder(),
      env: {
        ...AWS_ENV,
        PATH: process.env.PATH,
        DUCKMIRROR_BASE_URL: server.url,
        DUCKMIRROR_TOKEN: "test-token",
        DUCKMIRROR_RATE_LIMIT: "100000",
        DUCKMIRROR_HOME: home,
        ...more,
      },
      stdio: ["ignore", "ignore", "pipe"],
    });
    signal?.addEventListener("abort", () => void child.kill("SIGKILL"), { once: true });
    let said = "";
    child.stderr.on("data", (chunk) => {
      said += String(chunk);
    });
    const [code] = await once(child, "close");
    return { code, said };
  };
  const paid = () => service.log.filter(({ status }) => status === 200).length;

  try {
    const alone = aFolder();
    await sync(alone, undefined, { DUCKMIRROR_HOME: "" });
    const whole = paid();
    let spentByKilled = 0;
    for (let kill = 0; kill < KILLS; kill += 1) {
      const account = service.data.accounts[kill % service.data.accounts.length];
      if (account !== undefined) Object.assign(account, { mainScore: kill, updatedAt: new Date().toISOString() });
      const worker = dirs[Math.floor(random() * WORKERS)] ?? "";
      const at = 1 + Math.floor(random() * 9);
      const isServer = random() < 0.3;
      const controller = new AbortController();
      let nth = 0;
      let back: Promise<unknown> = Promise.resolve();
      s3.rule = async ({ method, key }) => {
        nth += 1;
        // A service with disks has everything when it answers again.
        if (nth > at) await back;
        if (nth !== at) return "pass";
        tally.add(`${isServer ? "S3 server" : "worker"}: ${method} ${key.replace(/packs\/.*/, "packs/…")}`);
        if (!isServer) {
          controller.abort();
          return random() < 0.5 ? "reset" : "lost";
        }
        await s3.kill();
        back = s3.restart();
        return "reset";
      };
      const before = paid();
      const { code, said } = await sync(worker, controller.signal);
      await back;
      s3.rule = null;
      if (code !== 0) spentByKilled += paid() - before;
      expect([0, 5, null], said).toContain(code);
    }
    // A sync that nobody kills, by a worker that has nothing.
    const last = join(aFolder(), "data");
    const { code, said } = await sync(last);
    expect(code, said).toBe(0);
    await sync(alone, undefined, { DUCKMIRROR_HOME: "" });
    const [moved, own] = [await dumpMirror(last), await dumpMirror(alone)];
    const withoutTimes = (rows: readonly string[] = []) =>
      rows.map((row) => row.replace(/"_(first_synced_at|synced_at|run_id)":"[^"]*",?/g, "")).sort();
    for (const table of ["main.accounts", "main.contacts", "main.signals"])
      expect(withoutTimes(moved[table])).toEqual(withoutTimes(own[table]));
    // Each sync costs less than the first one; a kill loses at most the sync that it met.
    expect(spentByKilled).toBeLessThanOrEqual(KILLS * whole);
    const fence = (await readLocalNote(last))?.fence ?? 0;
    expect(fence).toBeGreaterThan(1);
    expect((await bucket.keys()).length).toBeLessThan(60);
    process.stdout.write(`${tally.text()}\n${JSON.stringify({ fence, whole, spentByKilled })}\n`);
  } finally {
    await server.close();
  }
});
