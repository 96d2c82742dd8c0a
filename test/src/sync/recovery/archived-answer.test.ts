// An archived response becomes the same rows as when it was received.
import { describe, expect, test } from "vitest";
import type { Redactor } from "../../../../src/api/redact.ts";
import {
  archivedLoads,
  isEndpoint,
  parseArchived,
  redactedResponse,
  redactingArchive,
} from "../../../../src/sync/recovery/archived-answer.ts";
import { NO_DETAIL } from "../../../../src/sync/request/calls.ts";
import type { ArchiveHeader } from "../../../../src/warehouse/archive/archive.ts";
import type { ArchivedResponse } from "../../../../src/warehouse/archive/read-archive.ts";
import { aHeader, createMemoryArchive } from "../../../support/memory-archive.ts";

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
