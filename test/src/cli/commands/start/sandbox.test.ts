// duckmirror sandbox: says how to reach it, serves until it is stopped, and stops cleanly.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { aFolder, cli } from "../../../../support/cli.ts";

/** Starts the sandbox, calls `use` with the first thing it prints, then stops it. */
const sandbox = async (argv: readonly string[], use: (printed: string) => Promise<void>) => {
  const stop = new AbortController();
  let used: Promise<void> | null = null;
  const run = await cli(["sandbox", "--accounts", "3", ...argv], {
    signal: stop.signal,
    onOut: (text) => {
      used ??= use(text).finally(() => stop.abort());
    },
  });
  await used;
  return run;
};

const get = async (url: string, token: string) => {
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
  const body: unknown = await response.json();
  return { status: response.status, body };
};

test("--json prints one line with address and token, and the service answers there until it is stopped", async () => {
  let url = "";
  const { code, out } = await sandbox(["--json", "--seed", "7"], async (printed) => {
    const line = JSON.parse(printed);
    url = line.url;
    const { status, body } = await get(`${url}/v1/accounts`, line.token);
    expect([status, body]).toEqual([
      200,
      expect.objectContaining({ meta: expect.objectContaining({ totalCount: 3 }) }),
    ]);
    expect((await get(`${url}/v1/accounts`, "wrong")).status).toBe(401);
    expect((await get(line.openapi, line.token)).status).toBe(200);
  });
  expect([code, out.trimEnd().split("\n").length]).toEqual([0, 1]);
  await expect(fetch(url)).rejects.toThrow();
});

test("prints lines to paste into a shell, and `check` succeeds with them", async () => {
  const { err } = await sandbox(["--tier", "public", "--plan", "free"], async (printed) => {
    const env = Object.fromEntries(
      printed
        .trim()
        .split("\n")
        .map((line) => line.replace("export ", "").split("=")),
    );
    const { code, out } = await cli(["check", "--json"], { env, cwd: "/" });
    expect([code, JSON.parse(out)]).toEqual([
      0,
      expect.objectContaining({ tier: "public", rate_limit: expect.objectContaining({ per_minute: 10 }) }),
    ]);
  });
  expect(err).toContain("Ctrl-C ends it");
});

describe("options that make no sense", () => {
  test.each([
    ["--plan", "gold"],
    ["--tier", "half"],
    ["--accounts", "none"],
    ["--latency", "slow"],
    ["--token", ""],
  ])("%s %s is a usage error", async (option, value) => {
    const { code, err } = await cli(["sandbox", option, value]);
    expect([code, err.includes("error USAGE:")]).toEqual([2, true]);
  });
});

describe("--faults", () => {
  test("plays the faults of a file and says so; without one the service is whole", async () => {
    const file = join(aFolder(), "faults.yaml");
    writeFileSync(file, "rules:\n  - { fault: 503, path: /v1/accounts, times: 1 }\n");
    const { code, err } = await sandbox(["--faults", file], async (printed) => {
      const [url = "", token = ""] = printed.split("\n").map((line) => line.replace(/^.*?=/, ""));
      const statuses: number[] = [];
      for (let nth = 0; nth < 2; nth++) statuses.push((await get(`${url}/v1/accounts`, token)).status);
      expect(statuses).toEqual([503, 200]);
    });
    expect([code, err]).toEqual([0, expect.stringContaining("fault status on /v1/accounts")]);
  });

  test("a file that is missing or makes no sense is named", async () => {
    const file = join(aFolder(), "faults.yaml");
    writeFileSync(file, "rules:\n  - { fault: meteor }\n");
    const wrong = await cli(["sandbox", "--accounts", "1", "--faults", file]);
    expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining("rules.0.fault")]);
    const missing = await cli(["sandbox", "--accounts", "1", "--faults", "/nowhere/faults.yaml"]);
    expect([missing.code, missing.err]).toEqual([2, expect.stringContaining("CONFIG_FILE_UNREADABLE")]);
  });
});

test("--token-file gives the token without showing it among the process's arguments; --host where to listen", async () => {
  const dir = aFolder();
  writeFileSync(join(dir, "token"), "a-token-from-a-file\n");
  await sandbox(["--json", "--host", "127.0.0.1", "--token-file", join(dir, "token")], async (printed) => {
    const { url, token } = JSON.parse(printed);
    expect([new URL(url).hostname, token]).toEqual(["127.0.0.1", "a-token-from-a-file"]);
    expect((await get(`${url}/v1/accounts`, "a-token-from-a-file")).status).toBe(200);
  });
  const { code, err } = await cli(["sandbox", "--token-file", "gone"], { cwd: dir });
  expect([code, err]).toEqual([2, expect.stringContaining("TOKEN_FILE_UNREADABLE")]);
});
