// Without a command duckmirror greets; `init` writes a configuration.
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { vocabulary } from "../../../../../src/catalog/field-rules.ts";
import { loadConfig } from "../../../../../src/core/config/config.ts";
import { settingList } from "../../../../../src/core/config/settings.ts";
import { startSandbox } from "../../../../../src/sandbox/sandbox.ts";
import { aFolder, cli } from "../../../../support/cli.ts";
import { forFile } from "../../../../support/for-file.ts";

const sandbox = await forFile(startSandbox({ accounts: 3, requestsPerMinute: 6000, threads: 1 }));

const fileIn = (folder: string) => readFileSync(join(folder, "duckmirror.yaml"), "utf8");
const configIn = (cwd: string, env = {}) => loadConfig({ cwd, env, vocabulary: vocabulary() });

describe("without questions", () => {
  test("writes a file that holds every setting but the token, is valid, and changes nothing but what was given", async () => {
    const cwd = aFolder();
    const run = await cli(["init", "--yes", "--base-url", "https://api.example.com/p/"], { cwd });
    expect(run).toMatchObject({ code: 0, out: `wrote ${join(cwd, "duckmirror.yaml")}\n` });
    for (const { name } of settingList())
      expect(fileIn(cwd).match(new RegExp(`^#? ?${name}: `, "gm")), name).toEqual(
        name === "token" ? null : [expect.anything()],
      );
    expect(fileIn(cwd)).toContain("(DUCKMIRROR_MAX_PAGE_SIZE)");
    const written = configIn(cwd);
    const fallback = configIn(aFolder());
    expect(written.baseUrl).toBe("https://api.example.com/p");
    const ofFile = { baseUrl: null, file: null, origins: null, shownSettings: null, dataDir: null };
    expect({ ...written, ...ofFile }).toEqual({ ...fallback, ...ofFile });
  });

  test("every commented setting is valid when its # is taken away", async () => {
    const cwd = aFolder();
    await cli(["init", "--yes", "--base-url", "https://api.example.com"], { cwd });
    writeFileSync(
      join(cwd, "duckmirror.yaml"),
      fileIn(cwd)
        .replace(/^# (\w+: )/gm, "$1")
        .replace(/^(greedy|keep): .*/gm, ""),
    );
    expect(configIn(cwd)).toMatchObject({ maxCredits: 500, companies: ["example.com", "ACME"], maxPageSize: 1000 });
  });

  test("never writes or repeats the token, wherever it is configured; one given as a token file is refused", async () => {
    const cwd = aFolder();
    const token = "eyJhbGciOiJIUzI1NiJ9.eyJvcmciOiJvcmdfMSJ9.c2lnbmF0dXJl";
    const refused = await cli(["init", "--yes", "--token-file", token], { cwd });
    expect([refused.code, existsSync(join(cwd, "duckmirror.yaml"))]).toEqual([2, false]);
    const env = { DUCKMIRROR_TOKEN: token, DUCKMIRROR_BASE_URL: "https://api.example.com" };
    const { code, out, err } = await cli(["init", "--json"], { cwd, env });
    expect(code).toBe(0);
    expect(fileIn(cwd) + out + err + refused.err).not.toContain(token);
    expect(configIn(cwd).baseUrl).toBe(env.DUCKMIRROR_BASE_URL);
  });

  test("leaves an existing file alone unless --force is given", async () => {
    const cwd = aFolder();
    writeFileSync(join(cwd, "duckmirror.yaml"), "pace: even\n");
    const refused = await cli(["init", "--yes"], { cwd });
    expect(refused).toMatchObject({ code: 2, err: expect.stringContaining("error FILE_EXISTS") });
    expect(fileIn(cwd)).toBe("pace: even\n");
    expect((await cli(["init", "--yes", "--force"], { cwd })).code).toBe(0);
    expect(fileIn(cwd)).toContain("# pace: greedy");
  });

  test("paths typed here still mean the same when the file stands elsewhere", async () => {
    const cwd = aFolder();
    const argv = ["init", "--yes", "--config", "etc/d.yaml", "--token-file", "secret", "--data-dir", "mirror"];
    const { code, err } = await cli(argv, { cwd });
    expect([code, err]).toEqual([0, expect.stringContaining("duckmirror check --config etc/d.yaml ")]);
    const config = loadConfig({ cwd, env: {}, vocabulary: vocabulary(), configPath: "etc/d.yaml" });
    expect(config.token).toEqual({ kind: "file", path: join(cwd, "secret") });
    expect(config.dataDir).toBe(join(cwd, "mirror"));
  });

  test("writes the file that DUCKMIRROR_CONFIG names, which the other commands read", async () => {
    const cwd = aFolder();
    const env = { DUCKMIRROR_CONFIG: "etc/named.yaml" };
    const { code, out } = await cli(["init", "--yes", "--base-url", "https://api.example.com"], { cwd, env });
    expect([code, out]).toEqual([0, `wrote ${join(cwd, "etc/named.yaml")}\n`]);
    expect(configIn(cwd, env).baseUrl).toBe("https://api.example.com");
  });

  test("a folder that cannot be written is named", async () => {
    const cwd = aFolder();
    writeFileSync(join(cwd, "taken"), "");
    const { code, err } = await cli(["init", "--yes", "--config", "taken/d.yaml"], { cwd });
    expect([code, err.includes("CONFIG_FILE_UNWRITABLE")]).toEqual([2, true]);
  });
});

describe("on a terminal", () => {
  test("asks for the address until it is one, and where the token is", async () => {
    const cwd = aFolder();
    const answers = ["api.example.com", "https://api.example.com", "file", "~/token", "no", "", ""];
    const { code, err } = await cli(["init"], { cwd, answers });
    expect(code).toBe(0);
    expect(err).toContain('"api.example.com" is not an http(s) address');
    expect(configIn(cwd, { HOME: "/home/ana" })).toMatchObject({
      baseUrl: "https://api.example.com",
      token: { kind: "file", path: "/home/ana/token" },
    });
  });

  test("asks nothing that is known", async () => {
    const cwd = aFolder();
    const env = { DUCKMIRROR_BASE_URL: "https://api.example.com", DUCKMIRROR_TOKEN: "abc.def.ghi" };
    const argv = ["init", "--follow", "example.com, ACME", "--max-credits", "5"];
    expect((await cli(argv, { cwd, env, answers: ["no"] })).code).toBe(0);
    expect(configIn(cwd)).toMatchObject({ companies: ["example.com", "ACME"], maxCredits: 5 });
  });

  test("tests address and token for one credit, and mirrors if that is wished", async () => {
    const cwd = aFolder();
    const env = { DUCKMIRROR_TOKEN: sandbox.token };
    const answers = [sandbox.url, "yes", "", "5", "yes"];
    const { code, out, err } = await cli(["init"], { cwd, env, answers });
    expect([code, err]).toEqual([4, expect.stringContaining("BUDGET_SPENT")]);
    // They are for those who answer no.
    expect(err).not.toContain("Next:");
    expect(out).toMatch(/tier +Full Access \(3 accounts\)[\s\S]*cost +1 credit\nwrote [\s\S]*5 credits spent/);
    expect(existsSync(join(cwd, "data", "warehouse.duckdb"))).toBe(true);
  });

  test("a token that is refused ends it, unless the file is wanted all the same", async () => {
    const cwd = aFolder();
    const env = { DUCKMIRROR_TOKEN: "wrong" };
    const ended = await cli(["init"], { cwd, env, answers: [sandbox.url, "yes", "no"] });
    expect([ended.code, existsSync(join(cwd, "duckmirror.yaml"))]).toEqual([3, false]);
    const written = await cli(["init"], { cwd, env, answers: [sandbox.url, "yes", "yes", "", ""] });
    expect([written.code, configIn(cwd).baseUrl]).toEqual([0, sandbox.url]);
  });
});

describe("without questions, on a service", () => {
  test("--test shows tier and credits, --sync mirrors", async () => {
    const cwd = aFolder();
    const env = { DUCKMIRROR_TOKEN: sandbox.token, DUCKMIRROR_STREAMS: "accounts" };
    const argv = ["init", "--json", "--base-url", sandbox.url, "--test", "--sync"];
    const { code, out } = await cli(argv, { cwd, env });
    const [init, sync] = out
      .trim()
      .split("\n")
      .map((line): unknown => JSON.parse(line));
    expect(code).toBe(0);
    expect(init).toMatchObject({ settings: { base_url: sandbox.url }, check: { tier: "full", credits: { spent: 1 } } });
    expect(sync).toMatchObject({ status: "done", streams: [{ stream: "accounts", inserted: 3 }] });
  });

  test("--test writes no file if the token is refused", async () => {
    const cwd = aFolder();
    const argv = ["init", "--yes", "--base-url", sandbox.url, "--test"];
    const { code } = await cli(argv, { cwd, env: { DUCKMIRROR_TOKEN: "wrong" } });
    expect([code, existsSync(join(cwd, "duckmirror.yaml"))]).toEqual([3, false]);
  });
});

test("--print-schema prints the JSON Schema of the file", async () => {
  const { out } = await cli(["init", "--print-schema"]);
  expect(JSON.parse(out)).toMatchObject({ type: "object", properties: { base_url: {} }, additionalProperties: false });
});

const steps = (out: string) => [...out.matchAll(/^ {2}duckmirror (.*?) {2}/gm)].map(([, command]) => command?.trim());

test("greets, and names three steps for what is there: no configuration, no mirror, the demo's, a mirror", async () => {
  const cwd = aFolder();
  const empty = await cli([], { cwd });
  expect([empty.code, empty.err, steps(empty.out)]).toEqual([0, "", ["demo", "init", "--help"]]);
  writeFileSync(join(cwd, "duckmirror.yaml"), "base_url: https://api.example.com\n");
  const configured = await cli([], { cwd });
  expect(configured.out).toContain("https://api.example.com is configured");
  expect(steps(configured.out)).toEqual(["check --totals", "plan", "sync --max-credits 500"]);
  rmSync(join(cwd, "duckmirror.yaml"));
  await cli(["demo", "--accounts", "1", "--quiet"], { cwd });
  const demo = await cli([], { cwd });
  expect(steps(demo.out)).toEqual(["query --data-dir data/demo --list", "serve --data-dir data/demo", "init"]);
  writeFileSync(join(cwd, "duckmirror.yaml"), "base_url: https://api.example.com\ndata_dir: data/demo\n");
  const mirrored = await cli([], { cwd });
  expect([mirrored.code, steps(mirrored.out)]).toEqual([0, ["status", "query --list", "serve"]]);
});

test("a configuration with a mistake is refused as by every command", async () => {
  const cwd = aFolder();
  writeFileSync(join(cwd, "duckmirror.yaml"), "base_ulr: https://api.example.com\n");
  const { code, err } = await cli([], { cwd });
  expect([code, err]).toEqual([2, expect.stringContaining("Did you mean base_url?")]);
});
