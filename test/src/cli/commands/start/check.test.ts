// duckmirror check: one credit at most, every failure with its own exit code, no secret in any output.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { aFolder, cli } from "../../../../support/cli.ts";
import { json, type ScriptedServer, startScriptedServer } from "../../../../support/scripted-server.ts";

const token = "eyJhbGciOiJIUzI1NiJ9.eyJvcmciOiJvcmdfMSJ9.c2lnbmF0dXJl";
let service: ScriptedServer;
beforeEach(async () => {
  service = await startScriptedServer();
});
afterEach(() => service.close());

const anEnvelope = (totalCount: number) => ({
  data: totalCount === 0 ? [] : [{ id: 1 }],
  meta: {
    requestId: "r",
    apiVersion: "1.0.0",
    timestamp: "2026-03-01T00:00:00Z",
    page: 1,
    perPage: 1,
    totalCount,
    totalPages: totalCount,
  },
  usage: { limit: 5000, used: 1, remaining: 4999, resetsAt: "2026-04-01T00:00:00Z" },
});
const rateHeaders = { headers: { "ratelimit-limit": "300", "ratelimit-remaining": "299", "ratelimit-reset": "30" } };

const check = (argv: readonly string[] = [], env: Record<string, string> = {}, cwd = aFolder()) =>
  cli(["check", ...argv], {
    cwd,
    env: { DUCKMIRROR_BASE_URL: `${service.origin}/prefix`, DUCKMIRROR_TOKEN: token, ...env },
  });

describe("a good connection", () => {
  test("is reported with tier, credits and rate, for one request of one account", async () => {
    service.play(json(anEnvelope(1234), rateHeaders));
    const { code, out, err } = await check();
    expect([code, err]).toEqual([0, ""]);
    for (const line of [
      /^tier +Full Access \(1,234 accounts\)$/m,
      /^credits +4,999 of 5,000 left, reset 2026-04-01 00:00 UTC$/m,
      /^rate limit +service: 300 per minute; setting `rate_limit`: auto$/m,
      /^token +ok, from DUCKMIRROR_TOKEN$/m,
      /^cost +1 credit$/m,
    ])
      expect(out).toMatch(line);
    expect(service.seen.map(({ target }) => target)).toEqual(["/prefix/v1/accounts?perPage=1000&onlyWithFields=id"]);
    expect(service.seen[0]?.headers.authorization).toBe(`Bearer ${token}`);
    expect(service.seen[0]?.headers["user-agent"]).toBe("duckmirror/1.2.3");
    expect(out).not.toContain(token);
  });

  test("as JSON is one object", async () => {
    service.play(json(anEnvelope(3)));
    const { out } = await check(["--json"]);
    expect(JSON.parse(out)).toMatchObject({
      ok: true,
      base_url: `${service.origin}/prefix`,
      tier: "full",
      accounts: 3,
      credits: { spent: 1, remaining: 4999, limit: 5000, resets_at: "2026-04-01T00:00:00.000Z" },
      api_version: "1.0.0",
      requests: 1,
    });
  });

  test("an empty account list reads as Public API only", async () => {
    service.play(json(anEnvelope(0)));
    const { code, out } = await check();
    expect([code, out.includes("Public API only")]).toEqual([0, true]);
  });

  test("the token may come from a file named in the configuration file", async () => {
    const cwd = aFolder();
    writeFileSync(join(cwd, "token"), `${token}\n`);
    writeFileSync(join(cwd, "duckmirror.yaml"), "token_file: token\n");
    service.play(json(anEnvelope(1)));
    const { out } = await check([], { DUCKMIRROR_TOKEN: "" }, cwd);
    expect(out).toContain(`from ${join(cwd, "duckmirror.yaml")}, line 1`);
    expect(service.seen[0]?.headers.authorization).toBe(`Bearer ${token}`);
  });

  test("--totals counts inside the scope; a list whose filters are refused is counted whole", async () => {
    const cwd = aFolder();
    writeFileSync(join(cwd, "duckmirror.yaml"), "scope: {contacts: {type: champion}, signals: {type: hiring-alert}}\n");
    const refused = json({ error: "unknown value of a filter" }, { status: 400 });
    service.play(json(anEnvelope(9)), json(anEnvelope(4)), refused, json(anEnvelope(70)));
    const { out } = await check(["--totals", "--json"], {}, cwd);
    expect(JSON.parse(out)).toMatchObject({ contacts: 4, signals: 70, accounts_in_scope: null, credits: { spent: 3 } });
    expect(service.seen.map(({ target }) => target.replace("/prefix/v1/", ""))).toEqual([
      "accounts?perPage=1000&onlyWithFields=id",
      "contacts?perPage=1&onlyWithFields=id&type=champion",
      "signals?perPage=1&onlyWithFields=id&type=hiring-alert",
      "signals?perPage=1&onlyWithFields=id",
    ]);
  });

  test("--offline requests nothing", async () => {
    const { code } = await check(["--offline"]);
    expect([code, service.seen.length]).toEqual([0, 0]);
  });
});

describe("failures", () => {
  test.each([
    [401, 3, "CREDENTIALS_REFUSED"],
    [403, 3, "CREDENTIALS_REFUSED"],
    [402, 4, "QUOTA_SPENT"],
    [404, 5, "ROUTE_NOT_FOUND"],
    [302, 5, "REDIRECTED"],
  ])("status %i ends with exit code %i, %s, after one request", async (status, exit, name) => {
    service.play(json({ error: `no, ${token}` }, { status, headers: { location: "https://elsewhere.example/" } }));
    const { code, err, out } = await check(["--json"]);
    expect([code, JSON.parse(out).error.code]).toEqual([exit, name]);
    expect(err + out).not.toContain(token);
    expect(service.seen.length).toBe(1);
  });

  test("too large a page is refused for nothing, until one is granted; without a size that helps, one row is asked for", async () => {
    service.play(json({ error: "perPage must be at most 25" }, { status: 400 }), json({ ...anEnvelope(60) }));
    const { out } = await check(["--json"]);
    expect(JSON.parse(out)).toMatchObject({ ok: true, largest_page: 1, credits: { spent: 1 }, requests: 2 });
    service.play(json({ error: "unknown field in onlyWithFields" }, { status: 400 }), json(anEnvelope(60)));
    expect(JSON.parse((await check(["--json"])).out)).toMatchObject({ largest_page: null, requests: 2 });
    expect(service.seen.map(({ target }) => target.split("?")[1])).toEqual([
      "perPage=1000&onlyWithFields=id",
      "perPage=25&onlyWithFields=id",
      "perPage=1000&onlyWithFields=id",
      "perPage=1",
    ]);
  });

  test.each([413, 500, 503])("status %i for a large page: one row is asked for", async (status) => {
    service.play(json({ error: "no" }, { status }), json(anEnvelope(60)));
    expect(JSON.parse((await check(["--json"])).out)).toMatchObject({ ok: true, largest_page: null, requests: 2 });
    service.play(json({ error: "no" }, { status }), json({ error: "no" }, { status }));
    const { code, out } = await check(["--json"]);
    expect([code, JSON.parse(out).error.code]).toEqual([5, "REQUEST_FAILED"]);
  });

  test("a service that refuses every page ends with exit code 5", async () => {
    service.play(...Array.from({ length: 14 }, () => json({ error: "no" }, { status: 400 })));
    const { code, err } = await check();
    expect([code, err.includes("REQUEST_FAILED"), service.seen.length]).toEqual([5, true, 13]);
  });

  test("a page that is no envelope is named as such", async () => {
    service.play(json("<html>sign in</html>", { headers: { "content-type": "text/html" } }));
    const { code, err } = await check();
    expect([code, err.includes("RESPONSE_INVALID")]).toEqual([5, true]);
  });

  test("an address where nobody listens ends with exit code 5", async () => {
    const { origin } = service;
    await service.close();
    const { code, err } = await check([], { DUCKMIRROR_BASE_URL: origin });
    expect([code, err.includes("SERVICE_UNREACHABLE")]).toEqual([5, true]);
    service = await startScriptedServer();
  });

  test("a rate limit is waited for once, on the clock", async () => {
    service.play(json({}, { status: 429, headers: { "retry-after": "20" } }), json(anEnvelope(1)));
    const waits: number[] = [];
    let now = Date.now();
    const clock = {
      now: () => now,
      sleep: async (ms: number) => {
        waits.push(ms);
        now += ms;
      },
    };
    const env = { DUCKMIRROR_BASE_URL: service.origin, DUCKMIRROR_TOKEN: token };
    const { code, err } = await cli(["check"], { cwd: aFolder(), env, clock });
    expect([code, waits.length, service.seen.length]).toEqual([0, 1, 2]);
    service.play(...[1, 2].map(() => json({}, { status: 429, headers: { "retry-after": "20" } })));
    const again = await cli(["check"], { cwd: aFolder(), env, clock });
    expect([again.code, waits.length, again.err]).toEqual([5, 2, expect.stringContaining("REQUEST_FAILED")]);
    expect(waits[0]).toBeGreaterThan(15_000);
    expect(err).toContain("waiting");
  });

  test("what is missing or refused in the configuration costs no request", async () => {
    const cases = [
      [{ DUCKMIRROR_BASE_URL: "" }, "BASE_URL_MISSING"],
      [{ DUCKMIRROR_TOKEN: "" }, "TOKEN_MISSING"],
      [{ DUCKMIRROR_BASE_URL: "http://192.0.2.1" }, "TOKEN_OVER_PLAIN_HTTP"],
      [{ DUCKMIRROR_STREAMS: "acounts" }, "CONFIG_INVALID"],
      [{ DUCKMIRROR_TOKEN: "", DUCKMIRROR_TOKEN_FILE: "/no/such/file" }, "TOKEN_FILE_UNREADABLE"],
    ] as const;
    for (const [env, name] of cases) {
      const { code, err } = await check([], env);
      expect([code, err.split(":")[0]]).toEqual([2, `error ${name}`]);
    }
    expect(service.seen.length).toBe(0);
  });
});
