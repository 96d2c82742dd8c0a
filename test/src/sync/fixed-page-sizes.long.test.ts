// A service that takes pages of some sizes only, such as 10, 20, 50 and 100: no two pages of it share a row. Shows P23.
import { expect, test } from "vitest";
import { aJob, anOrganization } from "../../support/fake-data.ts";
import { createFakeService, type FakeService } from "../../support/fake-service.ts";
import { startMemoryRig } from "../../support/memory-rig.ts";

const SIZES = ["10", "20", "50", "100"];
type Query = Readonly<Record<string, string>>;
const isOdd = ({ perPage }: Query) => perPage !== undefined && !SIZES.includes(perPage);

const largestOf = ({ options }: FakeService): number => options.maxPerPage ?? 100;

const refusing = (service: FakeService): FakeService => {
  service.answerInstead(({ query }) =>
    isOdd(query) ? { status: 400, body: { message: "perPage must be one of 10, 20, 50, 100" } } : undefined,
  );
  return service;
};

/** Answers in the default size, 20, to every size that it does not take, but for one above the largest. */
const defaulting = (service: FakeService): FakeService => {
  const answer = (path: string, query: Query) =>
    service.answer(
      path,
      isOdd(query) && Number(query.perPage) < largestOf(service) ? { ...query, perPage: "20" } : query,
    );
  return Object.create(service, { answer: { value: answer } });
};

const started = async (kind: (service: FakeService) => FakeService, maxPerPage: number) => {
  const data = anOrganization(65);
  const rig = await startMemoryRig(kind(createFakeService(data, { maxPerPage })), {
    DUCKMIRROR_STREAMS: "accounts,contacts,signals",
  });
  return { data, rig };
};

// Above one page for each full one: those that were under way in another size when the first of them was answered.
test.each([
  ["refuses", refusing, 100, 0],
  ["answers in its default size to", defaulting, 100, 2],
  ["answers in its default size, which is its largest, to", defaulting, 20, 14],
] as const)("a service that %s other sizes is mirrored whole, and so are its deletes", async (_, kind, size, most) => {
  const { data, rig } = await started(kind, size);
  const first = await rig.sync();
  expect([first.error, first.report.streams.map(({ complete }) => complete)]).toEqual([null, [true, true, true]]);
  const lists = [data.accounts, data.contacts, data.signals];
  const pages = lists.reduce((sum, { length }) => sum + Math.ceil(length / size), 0);
  expect(first.report.credits.spent).toBeLessThanOrEqual(pages + most);
  data.contacts.splice(30, 1);
  for (const full of [false, true]) {
    const { error, report } = await rig.sync({ full });
    expect([error, report.streams.map(({ complete }) => complete)]).toEqual([null, [true, true, true]]);
  }
  const kept = await rig.query("SELECT id FROM contacts ORDER BY id");
  expect(kept.map(({ id }) => id)).toEqual(data.contacts.map(({ id }) => String(id)).sort());
});

const jobs = (name: string, count: number) => Array.from({ length: count }, (_, at) => aJob(`${name}${at}`));

/** Company 2's first page stops at 50 of its 130 openings, and says so; no later page has that size. */
const cuttingOneList = (service: FakeService): FakeService => {
  const answer = (path: string, query: Query) => {
    if (service.log.length > 200) return { status: 401, body: { message: "asked for again and again" } };
    if (path !== "/v1/companies/c_2/job-openings") return service.answer(path, query);
    return service.answer(path, { ...query, perPage: query.perPage === "100" ? "50" : "51" });
  };
  return Object.create(service, { answer: { value: answer } });
};

test.each([
  ["refused", refusing, "REQUEST_FAILED"],
  ["answered in the default size", defaulting, undefined],
] as const)(
  "a list whose own pages are smaller is not read again and again where that size is %s",
  async (_, kind, code) => {
    const data = anOrganization(2);
    data.lists.c_1 = { "job-openings": jobs("first", 250) };
    data.lists.c_2 = { "job-openings": jobs("second", 130) };
    const rig = await startMemoryRig(cuttingOneList(kind(createFakeService(data, { maxPerPage: 100 }))), {
      DUCKMIRROR_STREAMS: "accounts,job_openings",
    });
    const [, ofCompanies] = (await rig.sync()).report.streams;
    expect(ofCompanies?.error?.split(":")[0]).toBe(code);
    expect(ofCompanies?.complete).toBe(code === undefined);
    const lists = await rig.query(
      "SELECT count(*)::INT AS jobs FROM job_openings GROUP BY company_id ORDER BY company_id",
    );
    expect(lists.map(({ jobs }) => jobs)).toEqual([250, code === undefined ? 130 : 50]);
  },
);
