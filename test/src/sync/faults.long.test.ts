// A sync through the fault proxy, over real sockets into tables in memory: faults at random, storms, an outage, a token
// that expires, answers delivered twice. What each single kind means stands in faults-each-kind.test.ts. Shows P14.
import { expect, test } from "vitest";
import { type FaultFile, type FaultProxy, startFaultProxy } from "../../../src/sandbox/faults/proxy.ts";
import { afterTest } from "../../support/after-test.ts";
import { anOrganization } from "../../support/fake-data.ts";
import { startFakeServer } from "../../support/fake-server.ts";
import { createFakeService, type FakeService } from "../../support/fake-service.ts";
import { type MemoryRig, startMemoryRig } from "../../support/memory-rig.ts";

interface Setup {
  readonly service: FakeService;
  readonly rig: MemoryRig;
  readonly proxy: FaultProxy;
}

/** A mirror of a small organization whose service stands behind these faults. */
const behind = async (faults: FaultFile, env: Record<string, string> = {}, accounts = 3): Promise<Setup> => {
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
  return { service, rig, proxy };
};

const LISTS = ["accounts", "contacts", "signals"] as const;
const counts = async ({ rig }: Setup) => {
  const [row] = await rig.query(
    `SELECT ${LISTS.map((list) => `(SELECT count(*) FROM ${list}) AS ${list}`).join(", ")}`,
  );
  return row;
};
const whole = ({ service }: Setup) => Object.fromEntries(LISTS.map((list) => [list, service.data[list].length]));
test.each([1, 2, 3])(
  "with three of ten requests struck at random the mirror ends equal, and its credits are counted (seed %i)",
  async (seed) => {
    const setup = await behind({ seed, random: { rate: 0.3 } }, {}, 8);
    const { report, error } = await setup.rig.sync();
    expect(error).toBeNull();
    expect(await counts(setup)).toEqual(whole(setup));
    const booked = (kind: string) => setup.rig.requests().filter(({ charge }) => charge === kind).length;
    const [spent, ambiguous] = [booked("spent"), booked("ambiguous")];
    expect([spent, ambiguous]).toEqual([report.credits.spent, report.credits.ambiguous]);
    // A page of HTML that stood in for an answer counts as a 200 here and cost nothing there; a duplicate the other way.
    const struck = setup.proxy.passed.filter(({ fault }) => fault === "html").length;
    const twice = setup.proxy.passed.filter(({ fault }) => fault === "duplicate").length;
    expect(setup.service.spent()).toBeGreaterThanOrEqual(spent - struck);
    expect(setup.service.spent()).toBeLessThanOrEqual(spent + ambiguous + twice);
  },
);

test.each(["reset-after", "not-http"])(
  "%s on every request for one list fails that list, and the next run heals it",
  async (fault) => {
    const setup = await behind({ rules: [{ fault, path: "/v1/contacts" }] });
    const { report } = await setup.rig.sync();
    expect(setup.proxy.passed.filter(({ url }) => url.startsWith("/v1/contacts"))).toHaveLength(6);
    expect(report.streams.flatMap(({ stream, status }) => (status === "failed" ? [stream] : []))).toEqual(["contacts"]);
    expect(report.streams.find(({ stream }) => stream === "contacts")?.error).toMatch(
      /^SERVICE_UNREACHABLE: contacts \(GET \/v1\/contacts, page 1\) could not be reached/,
    );
    setup.proxy.setFaults({});
    expect((await setup.rig.sync()).error).toBeNull();
    expect(await counts(setup)).toEqual(whole(setup));
  },
);

test("a service that goes down for good ends the run after a few failures, and the next one goes on", async () => {
  const setup = await behind({ rules: [{ fault: "reset-before", after: 8 }] });
  const { error } = await setup.rig.sync();
  expect(error).toMatchObject({ code: "SERVICE_UNREACHABLE", exitCode: 5 });
  expect(setup.proxy.passed.length).toBeLessThan(300);
  setup.proxy.setFaults({});
  expect((await setup.rig.sync()).error).toBeNull();
  expect(await counts(setup)).toEqual(whole(setup));
});

test("a token that expires midway ends the run with exit code 3; with a new one nothing loaded is asked for again", async () => {
  const setup = await behind({ rules: [{ fault: "expired-token", after: 12 }] });
  expect((await setup.rig.sync()).error).toMatchObject({ code: "CREDENTIALS_REFUSED", exitCode: 3 });
  setup.proxy.setFaults({});
  expect((await setup.rig.sync()).error).toBeNull();
  expect(await counts(setup)).toEqual(whole(setup));
  const paid = setup.proxy.passed.filter(({ statuses, url }) => statuses.includes(200) && !url.startsWith("/v1/usage"));
  const again = paid.map(({ url }) => url).filter((url, index, urls) => urls.indexOf(url) !== index);
  // First pages of the organization's lists are looked at in every run.
  expect(again.filter((url) => !/^\/v1\/(accounts|contacts|signals)\?page=1&/.test(url))).toEqual([]);
});

test("requests that the service hears twice load each row once", async () => {
  const setup = await behind({ rules: [{ fault: "duplicate" }] });
  const { report, error } = await setup.rig.sync();
  expect(error).toBeNull();
  expect(await counts(setup)).toEqual(whole(setup));
  expect(setup.service.spent()).toBe(2 * report.credits.spent);
});

test("a clock of the service that jumps back and forth costs no row and no wait", async () => {
  const jumps = [-40 * 86_400_000, 3_600_000, 400 * 86_400_000].map((by, index) => ({
    fault: { kind: "clock-jump", by },
    after: index,
    times: 2,
  }));
  const setup = await behind({ rules: [...jumps, ...jumps] });
  expect((await setup.rig.sync()).error).toBeNull();
  expect(await counts(setup)).toEqual(whole(setup));
});

test("a name that does not resolve is said so, at no credit, and nothing is lost", async () => {
  const setup = await behind({});
  await setup.rig.sync({ streams: ["accounts"] });
  const { report } = await setup.rig.sync(
    { streams: ["accounts"] },
    { DUCKMIRROR_BASE_URL: "https://duckmirror.invalid" },
  );
  expect(report).toMatchObject({ status: "partial", credits: { spent: 0 } });
  expect(report.streams[0]?.error).toMatch(
    /^SERVICE_UNREACHABLE: accounts \(GET \/v1\/accounts, page 1\) could not be reached: getaddrinfo/,
  );
  expect((await counts(setup))?.accounts).toBe(setup.service.data.accounts.length);
});
