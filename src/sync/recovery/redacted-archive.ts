// Applies redaction to archived responses as they are read, because the rules may have changed since they were written.
// The redactor itself is pure (api/redact.ts).
import { readEnvelope } from "../../api/envelope.ts";
import type { Redactor } from "../../api/redact.ts";
import type { EndpointName } from "../../catalog/endpoints.ts";
import { exactJson } from "../../core/text/exact-json.ts";
import type { ArchiveStore } from "../../warehouse/archive/archive-store.ts";
import type { ArchivedResponse } from "../../warehouse/archive/read-archive.ts";
import { isEndpoint } from "./archived-answer.ts";

/**
 * The redacted body; null if redaction changes nothing. A body that is no envelope gives null, too: nothing of it is
 * loaded.
 */
const redactedBody = (body: Buffer, endpoint: EndpointName, redact: Redactor): Buffer | null => {
  const reading = readEnvelope(body.toString("utf8"), endpoint);
  if (!reading.ok) return null;
  const { envelope } = reading.value;
  const clean = redact(envelope, endpoint);
  return clean === envelope ? null : Buffer.from(exactJson(clean));
};

/** The archived response under today's rules of redaction. */
export const redactedResponse = (response: ArchivedResponse, redact: Redactor | null): ArchivedResponse => {
  const { endpoint } = response.header;
  const body = redact === null || !isEndpoint(endpoint) ? null : redactedBody(response.body, endpoint, redact);
  return body === null ? response : { ...response, body };
};

async function* redactedResponses(responses: AsyncIterable<ArchivedResponse>, redact: Redactor) {
  for await (const response of responses) yield redactedResponse(response, redact);
}

/** The archive with responses redacted on reading. */
export const redactingArchive = (archive: ArchiveStore, redact: Redactor | null): ArchiveStore =>
  redact === null ? archive : { ...archive, responses: (runId) => redactedResponses(archive.responses(runId), redact) };
