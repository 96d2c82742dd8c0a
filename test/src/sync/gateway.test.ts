// A gateway that answers in place of the service: its 404s delete nothing, unless several syncs get the same answer, and its
// pages of HTML, each of which may cost a credit, end the run. Shows P11 and P21.
import { expect, test } from "vitest";
import { anOrganization } from "../../support/fake-data.ts";
import { createFakeService } from "../../support/fake-service.ts";
import { startMemoryRig } from "../../support/memory-rig.ts";
import { startSyncRig } from "../../support/sync-rig.ts";

test("a gateway's 404 to the first two requests for every list of a company deletes no row", async () => {
  const service = createFakeService(anOrganization(4));
  const rig = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "accounts,news_articles,job_openings,filings" });
  expect((await rig.sync()).error).toBeNull();
  const counts = () => [rig.rows("news_articles").length, rig.rows("job_openings").length];
  const before = counts();
  const asked = new Map<string, number>();
  service.answerInstead(({ path }) => {
    const times = (asked.get(path) ?? 0) + 1;
    asked.set(path, times);
    return path.startsWith("/v1/companies/") && times < 3 ? { status: 404, body: "404 page not found" } : undefined;
  });
  const { error, report } = await rig.sync({ full: true });
  expect([error, report.streams.map(({ deleted }) => deleted)]).toEqual([null, [0, 0, 0, 0]]);
  expect(counts()).toEqual(before);
});

const DAY_MS = 86_400_000;

test("a 404 of text deletes a company's rows in the third sync, a day later; one without a body at once", async () => {
  const service = createFakeService(anOrganization(12));
  const { sync, rows, clock } = await startMemoryRig(service, { DUCKMIRROR_STREAMS: "accounts,news_articles" });
  await sync();
  service.answerWhere("/v1/companies/c_3/news-articles", { status: 404, body: "404 page not found" });
  const deleted = async () => {
    const { code, of } = await sync({ full: true });
    return [code, of("news_articles").deleted];
  };
  expect(await deleted()).toEqual(["STREAMS_FAILED", 0]);
  await clock.sleep(DAY_MS);
  expect(await deleted()).toEqual(["STREAMS_FAILED", 0]);
  expect(await deleted()).toEqual([null, 2]);
  expect(rows("news_articles", "company_id").filter(({ company_id: id }) => id === "c_3")).toEqual([]);
  // API.md does not say that every 404 has a body.
  service.answerWhere("/v1/companies/c_4/news-articles", { status: 404, body: "" });
  expect(await deleted()).toEqual([null, 2]);
});

test.each([
  ["404 page not found", false],
  ["", true],
])("a repair deletes a record that is asked for by id and answered with a 404 of %o: %s", async (body, deletes) => {
  const service = createFakeService(anOrganization(12), { maxPerPage: 10 });
  const { sync, verify, rows } = await startSyncRig(service, { DUCKMIRROR_STREAMS: "signals" });
  await sync();
  service.answerWhere(/^\/v1\/signals\/\d+$/, { status: 404, body });
  const { report } = await verify({ streams: ["signals"], sample: 30, maxCredits: 60, repair: true });
  expect(report.differences.map(({ kind }) => kind)).toContain("vanished");
  expect(report.checks.some(({ note }) => note?.includes("text in place of JSON"))).toBe(!deletes);
  const [gone] = await rows("SELECT count(*)::INT AS n FROM history.signals WHERE change = 'delete'");
  expect(Number(gone?.n) > 0).toBe(deletes);
});

test("HTML instead of every answer ends the run after those on the wire and a few more, sent one at a time", async () => {
  const service = createFakeService(anOrganization(20), { maxPerPage: 10 });
  const page = { status: 200, body: "<html><title>Sign in</title></html>" };
  service.answerWhere(({ number }) => number > 30, page);
  const { sync } = await startMemoryRig(service, { DUCKMIRROR_CONCURRENCY: "8" });
  const { code, sent } = await sync();
  expect(code).toBe("SERVICE_FAILING");
  expect(sent.length).toBeLessThanOrEqual(30 + 8 + 10);
});
