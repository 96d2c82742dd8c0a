// A sync through the fault proxy, over real sockets into tables in memory: faults at random, storms, an outage, a token
// that expires, answers delivered twice. What each single kind means stands in faults-each-kind.test.ts. Shows P14.
import { expect, test } from "vitest";
import { type FaultFile, startFaultProxy } from "../../../src/sandbox/faults/proxy.ts";
import { afterTest } from "../../support/after-test.ts";
import { anOrganization } from "../../support/fake-data.ts";
import { startFakeServer } from "../../support/fake-server.ts";
import { createFakeService, idsOf } from "../../support/fake-service.ts";
import { startMemoryRig } from "../../support/memory-rig.ts";

/** A mirror of a small organization whose service stands behind these faults. */
const behind = async (faults: FaultFile, env: Record<string, string> = {}, accounts = 3) => {
  const service = createFakeService(anOrganization(accounts), { maxPerPage: 10 });
  const server = await startFakeServer(service);
  afterTest(server.close);
  const proxy = await startFaultProxy({ upstream: server.url, faults });
  afterTest(proxy.close);
  const rig = await startMemoryRig(service, {
    DUCKMIRROR_BASE_URL: proxy.url,
    DUCKMIRROR_MAX_PAGE_SIZE: "10",
    DUCKMIRROR_MAX_BODY_BYTES: "1MiB",
    ...env,
  });
  const expectWhole = () => {
    for (const list of ["accounts", "contacts", "signals"] as const)
      expect(rig.ids(list)).toEqual(idsOf(service.data[list]));
  };
  return { ...rig, proxy, expectWhole };
};

test.each([1, 2, 3])(
  "with three of ten requests struck at random the mirror ends equal, and its credits are counted (seed %i)",
  async (seed) => {
    const { sync, proxy, requests, expectWhole } = await behind({ seed, random: { rate: 0.3 } }, {}, 8);
    const { report, error, paid } = await sync();
    expect(error).toBeNull();
    expectWhole();
    const booked = (kind: string) => requests().filter(({ charge }) => charge === kind).length;
    const [spent, ambiguous] = [booked("spent"), booked("ambiguous")];
    expect([spent, ambiguous]).toEqual([report.credits.spent, report.credits.ambiguous]);
    // A page of HTML that stood in for an answer counts as a 200 here and cost nothing there; a duplicate the other way.
    const struck = (by: string) => proxy.passed.filter(({ fault }) => fault === by).length;
    expect(paid).toBeGreaterThanOrEqual(spent - struck("html"));
    expect(paid).toBeLessThanOrEqual(spent + ambiguous + struck("duplicate"));
  },
);

test.each(["reset-after", "not-http"])(
  "%s on every request for one list fails that list, and the next run heals it",
  async (fault) => {
    const { sync, proxy, expectWhole } = await behind({ rules: [{ fault, path: "/v1/contacts" }] });
    const { report, of } = await sync();
    expect(proxy.passed.filter(({ url }) => url.startsWith("/v1/contacts"))).toHaveLength(6);
    expect(report.streams.flatMap(({ stream, status }) => (status === "failed" ? [stream] : []))).toEqual(["contacts"]);
    expect(of("contacts").error).toMatch(
      /^SERVICE_UNREACHABLE: contacts \(GET \/v1\/contacts, page 1\) could not be reached/,
    );
    proxy.setFaults({});
    expect((await sync()).error).toBeNull();
    expectWhole();
  },
);

test("a service that goes down for good ends the run after a few failures, and the next one goes on", async () => {
  const { sync, proxy, expectWhole } = await behind({ rules: [{ fault: "reset-before", after: 8 }] });
  expect((await sync()).error).toMatchObject({ code: "SERVICE_UNREACHABLE", exitCode: 5 });
  expect(proxy.passed.length).toBeLessThan(300);
  proxy.setFaults({});
  expect((await sync()).error).toBeNull();
  expectWhole();
});

test("a token that expires midway ends the run with exit code 3; with a new one nothing loaded is asked for again", async () => {
  const { sync, proxy, expectWhole } = await behind({ rules: [{ fault: "expired-token", after: 12 }] });
  expect((await sync()).error).toMatchObject({ code: "CREDENTIALS_REFUSED", exitCode: 3 });
  proxy.setFaults({});
  expect((await sync()).error).toBeNull();
  expectWhole();
  const paid = proxy.passed.filter(({ statuses, url }) => statuses.includes(200) && !url.startsWith("/v1/usage"));
  const again = paid.map(({ url }) => url).filter((url, index, urls) => urls.indexOf(url) !== index);
  // First pages of the organization's lists are looked at in every run.
  expect(again.filter((url) => !/^\/v1\/(accounts|contacts|signals)\?page=1&/.test(url))).toEqual([]);
});

test("requests that the service hears twice load each row once", async () => {
  const { sync, expectWhole } = await behind({ rules: [{ fault: "duplicate" }] });
  const { report, error, paid } = await sync();
  expect([error, paid]).toEqual([null, 2 * report.credits.spent]);
  expectWhole();
});
