// duckmirror verify and replay as a user types them: exit codes, table, JSON.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemClock } from "../../../../../src/core/clock.ts";
import { openWarehouse } from "../../../../../src/warehouse/file/warehouse.ts";
import { aFolder, cli } from "../../../../support/cli.ts";
import { anOrganization } from "../../../../support/fake-data.ts";
import { type FakeServer, startFakeServer } from "../../../../support/fake-server.ts";
import { createFakeService, type FakeService } from "../../../../support/fake-service.ts";

let service: FakeService;
let server: FakeServer;
let dataDir: string;
beforeEach(async () => {
  service = createFakeService(anOrganization(4));
  server = await startFakeServer(service);
  dataDir = join(aFolder(), "data");
  expect((await run("sync")).code).toBe(0);
});
afterEach(() => server.close());

const run = (...argv: readonly string[]) =>
  cli([...argv, "--data-dir", dataDir], {
    cwd: aFolder(),
    env: { DUCKMIRROR_BASE_URL: server.url, DUCKMIRROR_TOKEN: "test-token", DUCKMIRROR_RATE_LIMIT: "100000" },
  });

test("verify ends with 0 while mirror and service are equal, within 20 credits", async () => {
  const before = service.spent();
  const { code, out } = await run("verify");
  expect([code, out.includes("Equal in everything compared")]).toEqual([0, true]);
  expect(service.spent() - before).toBeLessThanOrEqual(20);
  expect(out).toMatch(/accounts .*page .*equal/);
  expect(out).toContain("possible with more --max-credits");
});

test("verify ends with 5 when something differs, as table and as JSON, and --repair mends it", async () => {
  Object.assign(service.data.accounts[0] ?? {}, { name: "Quietly\u0007 renamed" });
  const shown = await run("verify", "accounts", "--max-credits", "2");
  expect(shown.code).toBe(5);
  expect(shown.err).toContain("VERIFY_DIFFERS");
  expect(shown.out).toMatch(/accounts .*field .*1 .*name .*Account 1 .*Quietly\\u0007 renamed .*no/);
  const json = await run("verify", "accounts", "--repair", "--json");
  expect(json.code).toBe(5);
  expect(JSON.parse(json.out)).toMatchObject({
    credits: { spent: 1 },
    checks: [{ check: "page", stream: "accounts", status: "differs", records: 4 }],
    differences: [{ stream: "accounts", kind: "field", key: "1", field: "name", repaired: true }],
  });
  expect((await run("verify", "accounts")).code).toBe(0);
});

test("verify ends with 4 when the budget suffices for nothing, and with 2 on a stream nobody knows", async () => {
  expect((await run("verify", "--max-credits", "0")).code).toBe(4);
  expect((await run("verify", "acounts")).code).toBe(2);
  expect((await run("verify", "--sample", "none")).code).toBe(2);
});

test("replay heals a damaged working file, says what it kept, and needs neither address nor token", async () => {
  const requests = service.log.length;
  writeFileSync(join(dataDir, "state", "working.duckdb"), "no database ".repeat(5000));
  const broken = await run("sync");
  expect([broken.code, broken.err.includes("duckmirror replay")]).toEqual([1, true]);
  const { code, out } = await cli(["replay", "--data-dir", dataDir], { cwd: aFolder() });
  expect([code, out.includes("was kept as")]).toEqual([0, true]);
  expect(service.log.length).toBe(requests);
  const query = await run("query", "select count(*) as n from signals", "--json");
  expect(query.out).toContain("24");
  const { out: json } = await run("replay", "--json");
  expect(JSON.parse(json)).toMatchObject({ runs: 1, tables: { accounts: 4, signals: 24 }, missing: [] });
});

test("replay ends with 6 while another writer is at work", async () => {
  const warehouse = await openWarehouse({ dataDir, clock: systemClock });
  expect((await run("replay")).code).toBe(6);
  await warehouse.close();
});
