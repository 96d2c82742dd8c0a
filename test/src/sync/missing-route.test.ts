// Services that lack a route, or say that they count nothing: the rest is mirrored, and the error says what to do.
import { expect, test } from "vitest";
import { afterTest } from "../../support/after-test.ts";
import { aContact, anOrganization } from "../../support/fake-data.ts";
import { createFakeService, type FakeService } from "../../support/fake-service.ts";
import { startMemoryRig } from "../../support/memory-rig.ts";

type Answer = ReturnType<FakeService["answer"]>;

/** The service with other answers where `change` gives one. */
const changed = (service: FakeService, change: (path: string, answer: Answer) => Answer): FakeService => ({
  ...service,
  answer: (path, query) => change(path, service.answer(path, query)),
});

test("without usage routes all else is mirrored, and the error is no doubt about the address", async () => {
  const service = createFakeService(anOrganization(3), { maxPerPage: 50 });
  const without = changed(service, (path, answer) =>
    path.startsWith("/v1/usage") ? { status: 404, body: { message: "no route" } } : answer,
  );
  const rig = await startMemoryRig(without);
  afterTest(() => rig.close());
  const { report, error } = await rig.sync();
  expect(error).toMatchObject({ code: "STREAMS_FAILED", exitCode: 5 });
  expect(report.streams.filter(({ status }) => status === "failed").map(({ stream }) => stream)).toEqual(["usage"]);
  expect(report.streams.find(({ stream }) => stream === "usage")?.error).toMatch(
    /^ROUTE_MISSING: .*status 404, .*no route/,
  );
  expect(JSON.stringify(rig.events)).toContain("leave its stream out of the setting `streams`");
});

test("a count of -1 counts nothing: the list is read to its end", async () => {
  const data = anOrganization(1);
  data.contacts = Array.from({ length: 35 }, (_, row) => aContact(`p_${String(row).padStart(3, "0")}`));
  const service = createFakeService(data, { maxPerPage: 10 });
  const uncounted = changed(service, (_, answer) => {
    const { meta, ...body } = answer.body as { meta?: object };
    return meta === undefined || !("totalCount" in meta)
      ? answer
      : { ...answer, body: { ...body, meta: { ...meta, totalCount: -1, totalPages: -1 } } };
  });
  const rig = await startMemoryRig(uncounted, { DUCKMIRROR_STREAMS: "contacts" });
  afterTest(() => rig.close());
  expect((await rig.sync()).error).toBeNull();
  expect(rig.rows("contacts")).toHaveLength(35);
});
