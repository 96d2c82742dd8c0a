// Archived responses: they become the same rows as when they were received, under today's rules, without erased contacts; each is found
// by its id; those that a killed run did not commit join its cursor (docs/decisions/archive-and-journal.md).
import { describe, expect, test } from "vitest";
import type { Redactor } from "../../../../src/api/redact.ts";
import { createIdEraser, forgottenRecord } from "../../../../src/core/forgotten.ts";
import { initialForm } from "../../../../src/sync/list/form.ts";
import { next } from "../../../../src/sync/list/next.ts";
import { liveOf, openList } from "../../../../src/sync/list/state.ts";
import { walkingState } from "../../../../src/sync/list/stored-state.ts";
import { storedCursor } from "../../../../src/sync/list/ways/progress.ts";
import {
  archivedLoads,
  isEndpoint,
  parseArchived,
  redactedResponse,
  redactingArchive,
} from "../../../../src/sync/recovery/archived-response.ts";
import { createForgetBodies } from "../../../../src/sync/recovery/forget-bodies.ts";
import { recover } from "../../../../src/sync/recovery/recover.ts";
import { createRunAnswers } from "../../../../src/sync/recovery/replay.ts";
import { NO_DETAIL } from "../../../../src/sync/request/calls.ts";
import { type ArchiveHeader, openArchive } from "../../../../src/warehouse/archive/archive.ts";
import type { ArchivedResponse } from "../../../../src/warehouse/archive/read-archive.ts";
import { anAccount } from "../../../support/fake-data.ts";
import { aHeader, createMemoryArchive } from "../../../support/memory-archive.ts";
import { createMemoryWarehouse } from "../../../support/memory-warehouse/memory-warehouse.ts";
import { tempDir } from "../../warehouse/temp-dir.ts";

// Archived responses are read under today's rules of redaction, whatever the rules were when they were written.

const aResponse = (body: string, endpoint = "listContacts"): ArchivedResponse => ({
  header: aHeader({ stream: "contacts", endpoint, url: "/v1/contacts" }),
  body: Buffer.from(body),
});
const FOUND = '{"data":[{"id":9007199254740993,"email":"x@y"}],"meta":{}}';
/** Takes every list's records away. */
const redact: Redactor = (envelope) => ({ ...envelope, data: [{ id: 9007199254740993n }] });
const bodyOf = (response: ArchivedResponse) => response.body.toString();

test("what the rules forbid is gone from the body, and large ids keep their digits", () => {
  expect(bodyOf(redactedResponse(aResponse(FOUND), redact))).toBe('{"data":[{"id":9007199254740993}],"meta":{}}');
});

test("a body that the rules do not touch stays the same object", () => {
  const response = aResponse(FOUND);
  expect(redactedResponse(response, (envelope) => envelope)).toBe(response);
  expect(redactedResponse(response, null)).toBe(response);
});

test("a body that is no envelope, or of no known route, is left as it is: nothing of it is loaded", () => {
  for (const response of [aResponse("<html>"), aResponse(FOUND, "listPodcasts")])
    expect(redactedResponse(response, redact)).toBe(response);
});

test("an archive with rules gives only redacted responses; one without is the same archive", async () => {
  const archive = createMemoryArchive(() => undefined);
  const { header, body } = aResponse(FOUND);
  await archive.open({ runId: "r", now: 0 }).response(header, { bytes: body, encoding: "identity" });
  const bodies: string[] = [];
  for await (const response of redactingArchive(archive, redact).responses("r")) bodies.push(bodyOf(response));
  expect(bodies).toEqual(['{"data":[{"id":9007199254740993}],"meta":{}}']);
  expect(redactingArchive(archive, null)).toBe(archive);
});

const T0 = Date.UTC(2026, 0, 1);
const aPage = (more: Partial<ArchiveHeader> = {}) =>
  aHeader({ walkId: "w", url: "/v1/signals?page=2&perPage=5", sentAt: T0, receivedAt: T0 + 5, ...more });
const BODY = Buffer.from('{"data":[{"id":9007199254740993}],"meta":{}}');

describe("a response in the archive", () => {
  test("is parsed with its query and with every digit of its ids", () => {
    const answer = parseArchived(aPage(), BODY);
    expect(answer).toMatchObject({ stream: "signals", endpoint: "listSignals", query: { page: "2", perPage: "5" } });
    expect(answer?.envelope.data).toEqual([{ id: 9007199254740993n }]);
  });

  test("says what its request was for", () => {
    const read = { page: 2, perPage: 5, role: "bridge" } as const;
    const detail = { read, overlap: true, granted: ["a"], along: ["b"], work: "walk" };
    expect(parseArchived(aPage({ detail }), BODY)).toMatchObject(detail);
  });

  test("with another detail, as a lookup has, is no page", () => {
    expect(parseArchived(aPage({ detail: { kind: "company", input: "x" } }), BODY)).toMatchObject(NO_DETAIL);
  });

  test.each<[string, Partial<ArchiveHeader>, string]>([
    ["that is no envelope", {}, "<html>"],
    ["that is cut off", {}, '{"data":['],
    ["of a route that does not exist", { endpoint: "toString" }, BODY.toString()],
    ["of a stream that does not exist", { stream: "podcasts" }, BODY.toString()],
  ])("%s is left out", (_, header, body) => {
    expect(parseArchived(aPage(header), Buffer.from(body))).toBeNull();
  });
});

test("a name that every object has is no endpoint", () => {
  expect(["listSignals", "constructor", ""].map(isEndpoint)).toEqual([true, false, false]);
});

test("its rows belong to the walk that the caller names, and are as old as the response", () => {
  const answer = parseArchived(aPage(), BODY);
  if (answer === null) throw new Error("not parsed");
  expect(archivedLoads(answer, "w2")).toMatchObject([
    { table: "signals", requestId: "q1", walkId: "w2", receivedAt: T0 + 5, records: [{ id: 9007199254740993n }] },
  ]);
});

const HASH = "ab".repeat(32);
const ERASED = { id: "contact_0001", email: "zoe@example.com" };
const OTHER = { id: "contact_0002", email: "max@example.com" };

const header = aHeader({
  stream: "account_insights",
  scope: "1",
  endpoint: "getAccountInsight",
  url: "/v1/account-insights?accountId=1&include=contacts",
});

const bodies = createForgetBodies({
  find: (id) => (id === ERASED.id ? HASH : null),
  eraser: createIdEraser(new Map([[ERASED.id, `forgotten:${HASH}`]])),
  holdsTrace: (text) => text.includes(ERASED.email),
});

test.each([
  ["a list", { contacts: [ERASED, OTHER] }],
  ["a list under the singular", { contact: [ERASED, OTHER] }],
  ["a map by id", { contacts: { [ERASED.id]: ERASED, [OTHER.id]: OTHER } }],
  ["a map by id of records without one", { contacts: { [ERASED.id]: { email: ERASED.email }, [OTHER.id]: OTHER } }],
])("contacts that an insight embeds as %s are found, and erased ones removed", (_, included) => {
  const meta = { requestId: "s1", apiVersion: "1", timestamp: "2026-01-01T00:00:00Z" };
  const body = Buffer.from(JSON.stringify({ status: "found", data: { profile: { accountId: 1 } }, included, meta }));
  expect(bodies.contacts(header, body).map(({ id }) => id)).toEqual([ERASED.id, OTHER.id]);
  const clean = bodies.clean(header, body)?.toString() ?? "";
  expect(clean).toContain(OTHER.email);
  expect(clean).toContain(JSON.stringify(forgottenRecord(HASH)));
  for (const trace of [ERASED.id, ERASED.email]) expect(clean).not.toContain(trace);
});

const ADA = "ada.lovelace@example.com";
const adasBodies = createForgetBodies({
  find: (id) => (id === ADA ? HASH : null),
  eraser: createIdEraser(new Map([[ADA, `forgotten:${HASH}`]])),
  holdsTrace: () => false,
});
const usageHeader = { ...header, stream: "usage_requests", endpoint: "listUsageRequests", url: "/v1/usage/requests" };

test.each(["ada.lovelace%40example.com", "ada.lovelace\\u0040example.com", ADA])(
  "an id that the service's request history writes %s is removed from its archived body",
  (form) => {
    const meta = '{"requestId":"s1","apiVersion":"1","timestamp":"2026-01-01T00:00:00Z"}';
    const body = `{"status":"found","data":[{"id":1,"endpoint":"GET \\/v1\\/contacts\\/${form}"}],"meta":${meta}}`;
    const clean = adasBodies.clean(usageHeader, Buffer.from(body))?.toString() ?? "";
    expect(clean).toContain(`"endpoint":"GET /v1/contacts/forgotten:${HASH}"`);
  },
);

test("a body that cannot be parsed is emptied if it holds an id in any form, and stays otherwise", () => {
  const page = (path: string) => Buffer.from(`<p>Cannot GET ${path}</p>`);
  expect(adasBodies.clean(usageHeader, page("/v1/contacts/ada.lovelace%40example.com"))?.toString()).toBe("{}");
  expect(adasBodies.clean(usageHeader, page("/v1/contacts/bea%40example.com"))).toBeNull();
});

/** Archives of these runs, each with the responses of these ids. */
const archived = async (runs: Readonly<Record<string, readonly string[]>>): Promise<string> => {
  const dir = tempDir();
  for (const [runId, ids] of Object.entries(runs)) {
    const archive = openArchive({ dir, runId, now: 0 });
    for (const requestId of ids) {
      await archive.response(aHeader({ requestId, runId }), { bytes: BODY, encoding: "identity" });
    }
    await archive.flush();
    await archive.close();
  }
  return dir;
};

test("each response is found once, in any order, and passed ones are skipped", async () => {
  const answers = createRunAnswers(await archived({ r1: ["a", "b", "c", "d", "e"], r2: ["a"] }), null);
  const take = async (runId: string, id: string) => (await answers.of(runId).take(id))?.header.requestId ?? null;
  expect(await take("r1", "c")).toBe("c");
  expect(await take("r1", "a")).toBe("a");
  // One that was read already, and one that still comes.
  answers.of("r1").pass("b");
  answers.of("r1").pass("d");
  expect(await take("r1", "b")).toBeNull();
  expect(await take("r1", "e")).toBe("e");
  expect(await take("r2", "a")).toBe("a");
  expect(await take("r3", "a")).toBeNull();
  await answers.closeAll();
});

test("a passed response that still comes does not take the place of the one that is asked for", async () => {
  const answers = createRunAnswers(await archived({ r: ["a", "b"] }), null);
  answers.of("r").pass("a");
  expect((await answers.of("r").take("b"))?.header.requestId).toBe("b");
  expect(await answers.of("r").take("a")).toBeNull();
  await answers.close("r");
});

test("a run whose archive was closed is read from its beginning again", async () => {
  const answers = createRunAnswers(await archived({ r: ["a"] }), null);
  expect(await answers.of("r").take("a")).not.toBeNull();
  await answers.close("r");
  expect(await answers.of("r").take("a")).not.toBeNull();
  await answers.closeAll();
});

const KILLED = "killed";
const ORDER = { stream: "accounts", scope: "", mode: "walk", overlap: false } as const;
const TOTAL = 6;
const pageAt = (page: number) => ({ page, perPage: 2, role: "cover" }) as const;

/** The cursor after recovery, where run `storedBy` committed page 1 of three, and the killed run archived page 2. */
const recoveredCursor = async (storedBy: string) => {
  const warehouse = createMemoryWarehouse({});
  const archive = createMemoryArchive(() => undefined);
  await warehouse.startRun({ runId: KILLED, mode: "incremental", startedAt: T0 });
  const shape = initialForm(10);
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
