// A service that refuses requests in flight beyond one: a whole sync ends soon, without storms, and the log says why it took longer. Shows P17.
import { expect, test } from "vitest";
import { systemClock } from "../../../../src/core/clock.ts";
import { anOrganization } from "../../../support/fake-data.ts";
import { createFakeService } from "../../../support/fake-service.ts";
import { startMemoryRig } from "../../../support/memory-rig.ts";

/** Real time for which the service works at a request, ms. */
const WORK_MS = 4;

test.each([
  ["names the reason", { error: "too many concurrent requests" }, {}],
  ["gives no reason", "", {}],
  ["gives a wait", "", { "retry-after": "1" }],
])(
  "a limit of one request in flight, whose refusal %s, is learned in the first sync and kept in it",
  async (_, body, headers) => {
    const service = createFakeService(anOrganization(12));
    let inside = 0;
    service.options = {
      ...service.options,
      hold: () => {
        inside += 1;
        return new Promise((resolve) => setTimeout(resolve, WORK_MS));
      },
      before: () => {
        const isOver = inside > 1;
        inside -= 1;
        return isOver ? { status: 429, body, headers } : undefined;
      },
    };
    const rig = await startMemoryRig(service, {}, systemClock);
    const from = performance.now();
    const { sent, ...end } = await rig.sync();
    expect(end).toMatchObject({ error: null, complete: true });
    const refused = sent.filter(({ status }) => status === 429).length;
    expect(refused).toBeGreaterThan(0);
    expect(refused).toBeLessThanOrEqual(6);
    expect(performance.now() - from).toBeLessThan(30_000);
    const notes = rig.events.flatMap((event) => (event.kind === "note" ? [event.text] : []));
    expect(notes).toContain("the service refuses more than 1 request in flight, so no more are sent at once");
  },
);
