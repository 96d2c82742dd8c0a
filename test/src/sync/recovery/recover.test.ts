// Pages that a killed run archived and did not commit: they join its cursor as they would have joined in it
// (docs/decisions/archive-and-journal.md).
import { expect, test } from "vitest";
import { initialShape } from "../../../../src/sync/list/form.ts";
import { next } from "../../../../src/sync/list/next.ts";
import { liveOf, openList } from "../../../../src/sync/list/state.ts";
import { walkingState } from "../../../../src/sync/list/stored-state.ts";
import { storedCursor } from "../../../../src/sync/list/ways/progress.ts";
import { recover } from "../../../../src/sync/recovery/recover.ts";
import { NO_DETAIL } from "../../../../src/sync/request/calls.ts";
import { anAccount } from "../../../support/fake-data.ts";
import { aHeader, createMemoryArchive } from "../../../support/memory-archive.ts";
import { createMemoryWarehouse } from "../../../support/memory-warehouse/memory-warehouse.ts";

const T0 = Date.UTC(2026, 10, 22);
const KILLED = "killed";
const ORDER = { stream: "accounts", scope: "", mode: "walk", overlap: false } as const;
const TOTAL = 6;
const pageAt = (page: number) => ({ page, perPage: 2, role: "cover" }) as const;

/** The cursor after recovery, where run `storedBy` committed page 1 of three, and the killed run archived page 2. */
const recoveredCursor = async (storedBy: string) => {
  const warehouse = createMemoryWarehouse({});
  const archive = createMemoryArchive(() => undefined);
  await warehouse.startRun({ runId: KILLED, mode: "incremental", startedAt: T0 });
  const shape = initialShape(10);
  const first = openList({ order: ORDER, before: undefined, shape, rows: 0, runId: storedBy, now: T0 });
  const read = { ...pageAt(1), ids: ["6", "5"], rows: 2, values: [null, null], total: TOTAL };
  const list = liveOf(next(first, { kind: "page", read, receivedAt: T0 }).state);
  const committed = { runId: storedBy, loads: [], requests: [], quota: null };
  await warehouse.commit({ ...committed, scopes: [walkingState(list, storedBy)] });
  const open = archive.open({ runId: KILLED, now: T0 });
  const body = { data: [anAccount(4), anAccount(3)], meta: { page: 2, perPage: 2, totalCount: TOTAL, totalPages: 3 } };
  const bytes = Buffer.from(JSON.stringify(body));
  const header = aHeader({
    ...{ requestId: "second", runId: KILLED, walkId: list.walkId, sentAt: T0, receivedAt: T0, bytes: bytes.length },
    ...{ stream: "accounts", endpoint: "listAccounts", url: "/v1/accounts?page=2&perPage=2" },
    detail: { ...NO_DETAIL, read: pageAt(2), overlap: false },
  });
  await open.response(header, { bytes, encoding: "identity" });
  expect(await recover(warehouse, archive, async () => new Map(), T0)).toBe(1);
  expect(warehouse.ids("accounts")).toEqual(["4", "3"]);
  const [state] = await warehouse.scopeStates("accounts");
  return storedCursor(state?.cursor)?.progress;
};

test("a page of the run that stored the cursor joins it, so nothing is paid for twice", async () => {
  expect(await recoveredCursor(KILLED)).toMatchObject({ coverage: { end: 4, waiting: [], fresh: true } });
});

test("a page of a later run waits for its boundary, because time has passed since the cursor was stored", async () => {
  expect(await recoveredCursor("earlier")).toMatchObject({ coverage: { end: 2, waiting: [pageAt(2)], fresh: false } });
});
