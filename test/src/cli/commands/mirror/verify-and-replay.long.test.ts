// duckmirror verify and replay as a user types them: exit codes, table, JSON.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { afterTest } from "../../../../support/after-test.ts";
import { aFolder, aPlaceFor, cli } from "../../../../support/cli.ts";
import { anOrganization } from "../../../../support/fake-data.ts";
import { startFakeServer } from "../../../../support/fake-server.ts";
import { createFakeService } from "../../../../support/fake-service.ts";

/** A mirror of a fake service, and the program there. */
const aMirror = async () => {
  const service = createFakeService(anOrganization(4));
  const server = await startFakeServer(service);
  afterTest(server.close);
  const place = aPlaceFor({ url: server.url, token: "test-token" }, { DUCKMIRROR_RATE_LIMIT: "100000" });
  expect((await place.run("sync")).code).toBe(0);
  return { service, ...place };
};

test("verify ends with 0 while mirror and service are equal, with 5 when something differs; --repair mends it", async () => {
  const { service, run } = await aMirror();
  const equal = await run("verify");
  expect([equal.code, equal.out]).toEqual([0, expect.stringContaining("Equal in everything compared")]);
  expect(equal.out).toMatch(/accounts .*page .*equal/);
  expect(equal.out).toContain("possible with more --max-credits");
  Object.assign(service.data.accounts[0] ?? {}, { name: "Quietly\u0007 renamed" });
  const shown = await run("verify", "accounts", "--max-credits", "2");
  expect([shown.code, shown.err]).toEqual([5, expect.stringContaining("VERIFY_DIFFERS")]);
  expect(shown.out).toMatch(/accounts .*field .*1 .*name .*Account 1 .*Quietly\\u0007 renamed .*no/);
  const mended = await run("verify", "accounts", "--repair", "--json");
  expect(mended.code).toBe(5);
  expect(JSON.parse(mended.out)).toMatchObject({
    credits: { spent: 1 },
    checks: [{ check: "page", stream: "accounts", status: "differs", records: 4 }],
    differences: [{ stream: "accounts", kind: "field", key: "1", field: "name", repaired: true }],
  });
  expect((await run("verify", "accounts")).code).toBe(0);
  expect((await run("verify", "--max-credits", "0")).code).toBe(4);
  expect((await run("verify", "--sample", "none")).code).toBe(2);
});

test("replay heals a damaged working file, says what it kept, and needs neither address nor token", async () => {
  const { service, dataDir, run, json } = await aMirror();
  const requests = service.log.length;
  writeFileSync(join(dataDir, "state", "working.duckdb"), "no database ".repeat(5000));
  const broken = await run("sync");
  expect([broken.code, broken.err.includes("duckmirror replay")]).toEqual([1, true]);
  const { code, out } = await cli(["replay", "--data-dir", dataDir], { cwd: aFolder() });
  expect([code, out.includes("was kept as")]).toEqual([0, true]);
  expect(service.log.length).toBe(requests);
  expect(await json("query", "select count(*) as n from signals")).toEqual([{ n: 24 }]);
  expect(await json("replay")).toMatchObject({ runs: 1, tables: { accounts: 4, signals: 24 }, missing: [] });
});
