// A service that takes pages of some sizes only, such as 10, 20, 50 and 100: no two pages of it share a row. Shows P23.
import { expect, test } from "vitest";
import { aJob, anOrganization } from "../../support/fake-data.ts";
import { createFakeService, type FakeService, idsOf } from "../../support/fake-service.ts";
import { startMemoryRig } from "../../support/memory-rig.ts";

const SIZES = ["10", "20", "50", "100"];
type Query = Readonly<Record<string, string>>;
const isOdd = ({ perPage }: Query) => perPage !== undefined && !SIZES.includes(perPage);

const refusing = (service: FakeService): FakeService => {
  const named = { status: 400, body: { message: "perPage must be one of 10, 20, 50, 100" } };
  service.answerWhere(({ query }) => isOdd(query), named);
  return service;
};

/** Answers in the default size, 20, to every size that it does not take, but for one above the largest. */
const defaulting = (service: FakeService): FakeService => {
  const { maxPerPage = 100 } = service.options;
  const size = (query: Query) => (isOdd(query) && Number(query.perPage) < maxPerPage ? { perPage: "20" } : {});
  return { ...service, answer: (path, query) => service.answer(path, { ...query, ...size(query) }) };
};

// Above one page for each full one: those that were under way in another size when the first of them was answered.
test.each([
  ["refuses", refusing, 100, 0],
  ["answers in its default size to", defaulting, 100, 2],
  ["answers in its default size, which is its largest, to", defaulting, 20, 14],
] as const)("a service that %s other sizes is mirrored whole, and so are its deletes", async (_, kind, size, most) => {
  const data = anOrganization(65);
  const { sync, ids } = await startMemoryRig(kind(createFakeService(data, { maxPerPage: size })), {
    DUCKMIRROR_STREAMS: "accounts,contacts,signals",
  });
  const first = await sync();
  expect(first).toMatchObject({ error: null, complete: true });
  const lists = [data.accounts, data.contacts, data.signals];
  const pages = lists.reduce((sum, { length }) => sum + Math.ceil(length / size), 0);
  expect(first.paid).toBeLessThanOrEqual(pages + most);
  data.contacts.splice(30, 1);
  for (const full of [false, true]) expect(await sync({ full })).toMatchObject({ error: null, complete: true });
  expect(ids("contacts")).toEqual(idsOf(data.contacts));
});

const jobs = (name: string, count: number) => Array.from({ length: count }, (_, at) => aJob(`${name}${at}`));

/** Company 2's first page stops at 50 of its 130 openings, and says so; no later page has that size. */
const cuttingOneList = (service: FakeService): FakeService => {
  const answer: FakeService["answer"] = (path, query) => {
    if (service.log.length > 200) return { status: 401, body: { message: "asked for again and again" } };
    if (path !== "/v1/companies/c_2/job-openings") return service.answer(path, query);
    return service.answer(path, { ...query, perPage: query.perPage === "100" ? "50" : "51" });
  };
  return { ...service, answer };
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
    const { sync, rows } = await startMemoryRig(cuttingOneList(kind(createFakeService(data, { maxPerPage: 100 }))), {
      DUCKMIRROR_STREAMS: "accounts,job_openings",
    });
    const { error, complete } = (await sync()).of("job_openings");
    expect([error?.split(":")[0], complete]).toEqual([code, code === undefined]);
    const companies = rows("job_openings", "company_id").map(({ company_id: id }) => id);
    const held = ["c_1", "c_2"].map((company) => companies.filter((id) => id === company).length);
    expect(held).toEqual([250, code === undefined ? 130 : 50]);
  },
);
