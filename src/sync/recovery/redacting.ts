// Redaction where answers come in: what a sender brings, and what an archive of earlier runs holds, is redacted before
// anything is planned, loaded or archived. The redactor itself is pure (api/redact.ts).
import type { EndpointName } from "../../api/endpoints.ts";
import { readEnvelope } from "../../api/envelope.ts";
import { stringifyJson } from "../../api/lossless-json.ts";
import { type Redactor, redactOutcome } from "../../api/redact.ts";
import type { ArchiveStore } from "../../warehouse/archive/archive-store.ts";
import type { ArchivedResponse } from "../../warehouse/archive/read-archive.ts";
import type { Sender } from "../request/sender.ts";
import { isEndpoint } from "./archived-answer.ts";

/** The sender, every outcome redacted. */
export const redactingSender = (sender: Sender, redact: Redactor | null): Sender =>
  redact === null
    ? sender
    : {
        ...sender,
        send: async (parcel, ends) => {
          const sending = await sender.send(parcel, ends);
          return sending.kind === "outcome" ? { ...sending, outcome: redactOutcome(sending.outcome, redact) } : sending;
        },
      };

/** A body redacted; null where that changes nothing, or where it is no envelope. */
export const redactedBody = (body: Buffer, endpoint: EndpointName, redact: Redactor): Buffer | null => {
  const reading = readEnvelope(body.toString("utf8"), endpoint);
  if (!reading.ok) return null;
  const { envelope } = reading.value;
  const clean = redact(envelope, endpoint);
  return clean === envelope ? null : Buffer.from(stringifyJson(clean));
};

/** An archived response as it would be archived now. */
export const redactedResponse = (response: ArchivedResponse, redact: Redactor | null): ArchivedResponse => {
  const { endpoint } = response.header;
  const body = redact === null || !isEndpoint(endpoint) ? null : redactedBody(response.body, endpoint, redact);
  return body === null ? response : { ...response, body };
};

async function* redactedResponses(responses: AsyncIterable<ArchivedResponse>, redact: Redactor) {
  for await (const response of responses) yield redactedResponse(response, redact);
}

/** The archive, what is read back redacted: rules may have changed since it was written. */
export const redactingArchive = (archive: ArchiveStore, redact: Redactor | null): ArchiveStore =>
  redact === null ? archive : { ...archive, responses: (runId) => redactedResponses(archive.responses(runId), redact) };
