// duckmirror serve as its users meet it: the built program, a socket, signals.

import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { type Sandbox, startSandbox } from "../../src/sandbox/sandbox.ts";
import { type BuiltRun, runBuilt, startBuilt, syncWell } from "./built-cli.ts";
import { tempFolder } from "./temp-folder.ts";

const KEY = "0123456789abcdef0123456789abcdef";
const started = z.object({ url: z.string() });

let sandbox: Sandbox;
const dataDir = tempFolder();
beforeAll(async () => {
  sandbox = await startSandbox({ accounts: 3, requestsPerMinute: 1_000_000, threads: 1 });
  await syncWell(sandbox, dataDir, [], { DUCKMIRROR_RATE_LIMIT: "100000" });
});
afterAll(() => sandbox.close());

/** Waits for the line that names its address. */
const addressOf = async (run: BuiltRun): Promise<string> => {
  await new Promise<void>((resolve, reject) => {
    run.child.stdout.on("data", () => run.out().includes("\n") && resolve());
    void run.ended.then(({ err }) => reject(new Error(err)));
  });
  return started.parse(JSON.parse(run.out())).url;
};

const serve = async (argv: readonly string[], env: Readonly<Record<string, string>> = {}) => {
  const run: BuiltRun = startBuilt(["serve", "--json", "--data-dir", dataDir, ...argv], env);
  return { run, url: await addressOf(run) };
};

describe("duckmirror serve", () => {
  test("prints its address, answers from the mirror, and ends at once on SIGTERM whoever listens", async () => {
    const { run, url } = await serve(["--listen", "127.0.0.1:0"]);
    const answer = await fetch(`${url}/v1/accounts`);
    expect(z.object({ data: z.array(z.unknown()) }).parse(await answer.json()).data).toHaveLength(3);
    // An event stream and an idle connection stay open: neither may hold the program up.
    const events = await fetch(`${url}/api/events`);
    const asked = performance.now();
    run.child.kill("SIGTERM");
    expect((await run.ended).code).toBe(0);
    expect(performance.now() - asked).toBeLessThan(3000);
    await events.body?.cancel().catch(() => undefined);
  });

  test("refuses to be reached from elsewhere without a key, and says how to get one", async () => {
    const run = await runBuilt(["serve", "--json", "--data-dir", dataDir, "--listen", "0.0.0.0:0"], {});
    expect(run.code).toBe(2);
    expect(JSON.parse(run.out).error.code).toBe("SERVER_KEY_MISSING");
    expect(run.err).toContain("openssl rand");
  });

  test("asks for the key of its file and never shows it", async () => {
    const file = join(tempFolder(), "key");
    writeFileSync(file, `${KEY}\n`, { mode: 0o600 });
    const { run, url } = await serve(["--listen", "127.0.0.1:0"], { DUCKMIRROR_SERVER_KEY_FILE: file });
    expect((await fetch(`${url}/v1/accounts`)).status).toBe(401);
    expect((await fetch(`${url}/v1/accounts`, { headers: { authorization: `Bearer ${KEY}` } })).status).toBe(200);
    run.child.kill("SIGINT");
    const { code, out, err } = await run.ended;
    expect(code).toBe(0);
    expect(out + err).not.toContain(KEY);
  });

  test("shows every profile of the configuration, and is ready when each has its snapshot", async () => {
    const file = join(tempFolder(), "duckmirror.yaml");
    writeFileSync(file, `profiles:\n  north:\n    data_dir: ${dataDir}\n  south:\n    data_dir: ${tempFolder()}\n`);
    const run = startBuilt(["serve", "--json", "--config", file, "--listen", "127.0.0.1:0"], {});
    const url = await addressOf(run);
    const names = z.object({ profiles: z.array(z.object({ name: z.string(), published: z.boolean() })) });
    expect(names.parse(await (await fetch(`${url}/api/profiles`)).json()).profiles).toEqual([
      { name: "north", published: true },
      { name: "south", published: false },
    ]);
    expect((await fetch(`${url}/profiles/north/v1/accounts`)).status).toBe(200);
    expect((await fetch(`${url}/profiles/south/v1/accounts`)).status).toBe(503);
    expect((await fetch(`${url}/readyz`)).status).toBe(503);
    run.child.kill("SIGTERM");
    expect((await run.ended).code).toBe(0);
  });

  test("a taken port is a clear error", async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
    const address = taken.address();
    const port = typeof address === "object" ? address?.port : 0;
    const run = await runBuilt(["serve", "--data-dir", dataDir, "--listen", `127.0.0.1:${port}`], {});
    expect([run.code, run.err.includes("LISTEN_FAILED")]).toEqual([2, true]);
    taken.close();
  });
});
