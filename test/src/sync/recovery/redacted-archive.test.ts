// Archived responses are read under today's rules of redaction, whatever the rules were when they were written.
import { expect, test } from "vitest";
import type { Redactor } from "../../../../src/api/redact.ts";
import { redactedResponse, redactingArchive } from "../../../../src/sync/recovery/redacted-archive.ts";
import type { ArchivedResponse } from "../../../../src/warehouse/archive/read-archive.ts";
import { createMemoryArchive } from "../../../support/memory-archive.ts";

const aResponse = (body: string, endpoint = "listContacts"): ArchivedResponse => ({
  header: {
    requestId: "q1",
    runId: "r",
    stream: "contacts",
    scope: "",
    walkId: null,
    endpoint,
    url: "/v1/contacts",
    detail: null,
    sentAt: 1,
    receivedAt: 2,
    status: 200,
    bytes: body.length,
  },
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
