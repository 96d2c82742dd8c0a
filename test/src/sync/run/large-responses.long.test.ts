// Large responses: how many requests a sync keeps in flight follows from the memory that it may take.
import { expect, test } from "vitest";
import { afterTest } from "../../../support/after-test.ts";
import { anOrganization } from "../../../support/fake-data.ts";
import { startFakeServer } from "../../../support/fake-server.ts";
import { createFakeService } from "../../../support/fake-service.ts";
import { startSyncRig } from "../../../support/sync-rig.ts";

/** A quarter of it, the first estimate of a response's size, is more than a sync lets wait. */
const PADDING = "x".repeat(20 * 1024 * 1024);
/** Turns of the event loop after which no further request is on its way from the same process. */
const QUIET_TURNS = 300;
/** Turns for which the service waits for as many requests as are expected: a busy machine may be slow to send them. */
const PATIENT_TURNS = 300_000;

const turn = () => new Promise((resolve) => setImmediate(resolve));

/**
 * Most pages of signals that the service was asked for at once, and the rows that the sync then mirrored. It waits for
 * `expected` requests at once, except for the first page, which is asked for alone.
 */
const mostAtOnce = async (memory: string, expected: number) => {
  const service = createFakeService(anOrganization(10), { maxPerPage: 10 });
  const padded: typeof service = {
    ...service,
    answer: (path, query) => {
      const { body, ...rest } = service.answer(path, query);
      if (path === "/v1/signals" && rest.status === 200) answered += 1;
      return { ...rest, body: typeof body === "object" ? { ...body, padding: PADDING } : body };
    },
  };
  let waiting = 0;
  let most = 0;
  let answered = 0;
  const server = await startFakeServer(padded, async (path) => {
    if (path !== "/v1/signals") return;
    waiting += 1;
    most = Math.max(most, waiting);
    const turns = () => (answered > 0 && most < expected ? PATIENT_TURNS : QUIET_TURNS);
    for (let quiet = 0, before = waiting; quiet < turns(); quiet = before === waiting ? quiet + 1 : 0) {
      before = waiting;
      await turn();
    }
    waiting -= 1;
  });
  afterTest(() => server.close());
  const rig = await startSyncRig(service, { DUCKMIRROR_BASE_URL: server.url, DUCKMIRROR_MEMORY: memory });
  const { report } = await rig.sync({ streams: ["signals"] });
  return { most, status: report.status, inserted: report.streams[0]?.inserted };
};

test("with little memory two large responses are on their way at once, else more", async () => {
  const little = await mostAtOnce("512MiB", 2);
  expect(little).toMatchObject({ most: 2, status: "done" });
  const enough = await mostAtOnce("4GiB", 3);
  expect(enough).toMatchObject({ status: "done", inserted: little.inserted });
  expect(enough.most).toBeGreaterThan(2);
});
