// Ids that a path cannot carry: servers and clients resolve the dots away, and another route would be asked.
import { afterEach, expect, test } from "vitest";
import { anOrganization } from "../../../support/fake-data.ts";
import { createFakeService } from "../../../support/fake-service.ts";
import { type SyncRig, startSyncRig } from "../../../support/sync-rig.ts";

let rig: SyncRig | null = null;
afterEach(async () => {
  await rig?.close();
  rig = null;
});

test.each(["..", "."])(
  "a company whose id is %j is asked for under no other route, and is said to fail",
  async (id) => {
    const service = createFakeService(anOrganization(3));
    Object.assign(service.data.accounts[1] ?? {}, { companyId: id });
    rig = await startSyncRig(service);
    const { report, error } = await rig.sync();
    expect(error?.exitCode).toBe(5);
    const companies = report.streams.find(({ stream }) => stream === "companies");
    expect(companies).toMatchObject({ complete: false, error: expect.stringContaining("leads to another route") });
    const routes = service.log.map(({ path }) => path);
    expect(
      routes.filter((path) => path.startsWith("/v1/companies") && !/^\/v1\/companies\/c_[13](\/|$)/.test(path)),
    ).toEqual([]);
    expect(routes.filter((path) => ["/v1/", "/v1", "/v1/news-articles", "/v1/job-openings"].includes(path))).toEqual(
      [],
    );
    expect(await rig.rows("SELECT count(*)::INT AS n FROM companies")).toEqual([{ n: 2 }]);
  },
);
