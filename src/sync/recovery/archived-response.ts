// Parses an archived response and converts it to rows, for `replay` and recovery, by the present catalog and field rules.
// `redactingArchive` is the archive without the values that these rules exclude.
import { readEnvelope } from "../../api/envelope.ts";
import type { Envelope } from "../../api/outcome.ts";
import type { Redactor } from "../../api/redact.ts";
import { ENDPOINTS, type EndpointName } from "../../catalog/endpoints.ts";
import { isStreamName, type StreamName } from "../../catalog/streams.ts";
import { exactJson } from "../../core/json.ts";
import type { ArchiveHeader } from "../../warehouse/archive/archive.ts";
import type { ArchivedResponse, ArchiveStore } from "../../warehouse/archive/read-archive.ts";
import type { TableLoad } from "../../warehouse/record/checkpoint.ts";
import { frozenMisfit, type TableStrictness } from "../../warehouse/record/normalize-record.ts";
import { type ArchivedDetail, archivedDetail, NO_DETAIL } from "../request/calls.ts";
import { loadsOf } from "../rows/loads.ts";

// Applies redaction to archived responses as they are read, because the rules may have changed since they were written.
// The redactor itself is pure (api/redact.ts).

/** The archived response under today's rules of redaction. Of a body that is no envelope nothing is loaded, so it stays. */
export const redactedResponse = (response: ArchivedResponse, redact: Redactor | null): ArchivedResponse => {
  const read = redact === null ? null : readArchived(response.header, response.body);
  if (redact === null || read === null) return response;
  const { envelope } = read.envelope;
  const clean = redact(envelope, read.endpoint);
  return clean === envelope ? response : { ...response, body: Buffer.from(exactJson(clean)) };
};

async function* redactedResponses(responses: AsyncIterable<ArchivedResponse>, redact: Redactor) {
  for await (const response of responses) yield redactedResponse(response, redact);
}

/** The archive with responses redacted on reading. */
export const redactingArchive = (archive: ArchiveStore, redact: Redactor | null): ArchiveStore =>
  redact === null ? archive : { ...archive, responses: (runId) => redactedResponses(archive.responses(runId), redact) };

export const isEndpoint = (name: string): name is EndpointName => Object.hasOwn(ENDPOINTS, name);

/** The envelope of an archived body; null: it is none, or its route is not known. */
export const readArchived = (
  { endpoint }: Pick<ArchiveHeader, "endpoint">,
  body: Buffer,
): { readonly endpoint: EndpointName; readonly envelope: Envelope } | null => {
  if (!isEndpoint(endpoint)) return null;
  const reading = readEnvelope(body.toString("utf8"), endpoint);
  return reading.ok ? { endpoint, envelope: reading.value } : null;
};

const queryOf = (url: string): Record<string, string> => {
  const start = url.indexOf("?");
  return start === -1 ? {} : Object.fromEntries(new URLSearchParams(url.slice(start + 1)));
};

/** An archived response: header, parsed envelope, and the read that it answers. */
export interface ArchivedAnswer extends ArchivedDetail {
  readonly header: ArchiveHeader;
  readonly stream: StreamName;
  readonly endpoint: EndpointName;
  readonly query: Readonly<Record<string, string>>;
  readonly envelope: Envelope;
}

/** Parses an archived response; null when it is no envelope (it was archived because it was paid for). */
export const parseArchived = (header: ArchiveHeader, body: Buffer): ArchivedAnswer | null => {
  const { stream } = header;
  const read = readArchived(header, body);
  if (read === null || !isStreamName(stream)) return null;
  const detail = archivedDetail.safeParse(header.detail).data ?? NO_DETAIL;
  return { ...detail, ...read, header, stream, query: queryOf(header.url) };
};

/** Row loads of an archived response, the same as when it is received live. */
export const archivedLoads = ({ header, envelope, ...answer }: ArchivedAnswer, walkId: string | null) => {
  const { scope, requestId, receivedAt } = header;
  const { data, included } = envelope;
  return loadsOf({ ...answer, scope, requestId, walkId, receivedAt, data, included, envelope: envelope.envelope });
};

/** What of an archived response can be loaded. `error`: why nothing can. */
export const loadable = (
  { header, body }: ArchivedResponse,
  strictness: TableStrictness,
):
  | { readonly answer: ArchivedAnswer; readonly loads: readonly TableLoad[]; readonly error: null }
  | { readonly answer: ArchivedAnswer | null; readonly error: "RESPONSE_INVALID" | "SCHEMA_FROZEN" } => {
  const answer = parseArchived(header, body);
  if (answer === null) return { answer, error: "RESPONSE_INVALID" };
  const loads = archivedLoads(answer, null);
  return frozenMisfit(loads, strictness) === null ? { answer, loads, error: null } : { answer, error: "SCHEMA_FROZEN" };
};
