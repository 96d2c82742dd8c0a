// duckmirror serve as its users meet it: the built program, a socket, signals.

import { readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { aSandbox, FAST, runBuilt, startServing, syncWell } from "./built-cli.ts";
import { tempFolder } from "./temp-folder.ts";

const KEY = "0123456789abcdef0123456789abcdef";

const dataDir = tempFolder();
await syncWell(await aSandbox({ accounts: 3 }), dataDir, [], FAST);

const serve = (argv: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  startServing(["serve", "--json", "--data-dir", dataDir, ...argv], env);

describe("duckmirror serve", () => {
  test("prints its address, answers from the mirror, and ends at once on SIGTERM, with clients connected", async () => {
    const { url, stop } = await serve(["--listen", "127.0.0.1:0"]);
    const answer = await fetch(`${url}/v1/accounts`);
    expect(z.object({ data: z.array(z.unknown()) }).parse(await answer.json()).data).toHaveLength(3);
    // An event stream and an idle connection stay open: neither may hold the program up.
    const events = await fetch(`${url}/api/events`);
    expect((await stop()).ms).toBeLessThan(3000);
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
    const { url, ...run } = await serve(["--listen", "127.0.0.1:0"], { DUCKMIRROR_SERVER_KEY_FILE: file });
    expect((await fetch(`${url}/v1/accounts`)).status).toBe(401);
    expect((await fetch(`${url}/v1/accounts`, { headers: { authorization: `Bearer ${KEY}` } })).status).toBe(200);
    run.child.kill("SIGINT");
    const { code, out, err } = await run.ended;
    expect(code).toBe(0);
    expect(out + err).not.toContain(KEY);
  });

  test("named keys: made, listed without their text, revoked while it runs; one allows other machines to ask", async () => {
    const folder = tempFolder();
    const key = async (...argv: string[]) => {
      const { code, out } = await runBuilt(["key", ...argv, "--json", "--data-dir", folder], {});
      return { code, answer: code === 0 ? JSON.parse(out) : JSON.parse(out).error.code };
    };
    const { answer: made } = await key("add", "grafana", "--role", "metrics", "--expires", "90d");
    const { key: text } = z
      .object({ key: z.string(), name: z.literal("grafana"), role: z.literal("metrics") })
      .parse(made);
    const listed = await key("list");
    expect(listed.answer).toMatchObject([{ name: "grafana", role: "metrics", state: "active" }]);
    expect(JSON.stringify(listed.answer)).not.toContain(text.slice(3));
    expect(await key("add", "grafana", "--role", "read")).toEqual({ code: 2, answer: "USAGE" });
    expect(await key("add", "x", "--role", "admin")).toEqual({ code: 2, answer: "USAGE" });
    const run = await startServing(["serve", "--json", "--data-dir", folder, "--listen", "0.0.0.0:0"], {});
    const url = run.url.replace("0.0.0.0", "127.0.0.1");
    const ask = async (path: string) =>
      (await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${text}` } })).status;
    expect([await ask("/metrics"), await ask("/v1/accounts")]).toEqual([200, 403]);
    expect((await key("revoke", "grafana")).answer).toEqual({ name: "grafana", revoked: true });
    expect(await ask("/metrics")).toBe(401);
    await run.stop();
  });

  test("with require_key it makes a key of its own, keeps it 0600, and prints its file, as no terminal reads it", async () => {
    const folder = tempFolder();
    const env = { DUCKMIRROR_REQUIRE_KEY: "yes" };
    const argv = ["serve", "--json", "--data-dir", folder, "--listen", "127.0.0.1:0"];
    const place = z.object({ key_file: z.string() });
    const keys: string[] = [];
    for (let start = 0; start < 2; start++) {
      const { url, ...run } = await startServing(argv, env);
      keys.push(readFileSync(place.parse(JSON.parse(run.out())).key_file, "utf8").trim());
      expect(run.out()).not.toContain(keys[0]);
      expect((await fetch(`${url}/v1/accounts`)).status).toBe(401);
      const answer = await fetch(`${url}/api/profiles`, { headers: { authorization: `Bearer ${keys[0]}` } });
      expect(answer.status).toBe(200);
      const { err } = await run.stop();
      expect(err).not.toContain(keys[0]);
    }
    expect(keys[1]).toBe(keys[0]);
    expect(statSync(join(folder, "state", "server-key")).mode & 0o777).toBe(0o600);
  });

  test("shows every profile of the configuration, and is ready when each has its snapshot", async () => {
    const file = join(tempFolder(), "duckmirror.yaml");
    writeFileSync(file, `profiles:\n  north:\n    data_dir: ${dataDir}\n  south:\n    data_dir: ${tempFolder()}\n`);
    const { url, stop } = await startServing(["serve", "--json", "--config", file, "--listen", "127.0.0.1:0"], {});
    const names = z.object({ profiles: z.array(z.object({ name: z.string(), published: z.boolean() })) });
    expect(names.parse(await (await fetch(`${url}/api/profiles`)).json()).profiles).toEqual([
      { name: "north", published: true },
      { name: "south", published: false },
    ]);
    expect((await fetch(`${url}/profiles/north/v1/accounts`)).status).toBe(200);
    expect((await fetch(`${url}/profiles/south/v1/accounts`)).status).toBe(503);
    expect((await fetch(`${url}/readyz`)).status).toBe(503);
    await stop();
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
