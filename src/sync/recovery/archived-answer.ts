// An answer out of the archive: parsed as it was live, and turned into the same rows. Pure.
import type { z } from "zod";
import { ENDPOINTS, type EndpointName } from "../../api/endpoints.ts";
import { type Envelope, readEnvelope } from "../../api/envelope.ts";
import { isStreamName, type StreamName } from "../../catalog/streams.ts";
import type { ArchiveHeader } from "../../warehouse/archive/archive.ts";
import { loadsOf } from "../rows/loads.ts";
import { archivedDetail } from "../task/wanted-call.ts";

/** True when the text names an endpoint. */
export const isEndpoint = (name: string): name is EndpointName => Object.hasOwn(ENDPOINTS, name);

const queryOf = (url: string): Record<string, string> => {
  const start = url.indexOf("?");
  return start === -1 ? {} : Object.fromEntries(new URLSearchParams(url.slice(start + 1)));
};

/** A response out of the archive: header, parsed envelope and which read it answers. */
export interface ArchivedAnswer {
  readonly header: ArchiveHeader;
  readonly stream: StreamName;
  readonly endpoint: EndpointName;
  readonly query: Readonly<Record<string, string>>;
  readonly envelope: Envelope;
  readonly read: z.infer<typeof archivedDetail>["read"];
  /** Whether the walk it belongs to shares rows between pages; null when it is no walk. */
  readonly overlap: boolean | null;
  readonly granted: readonly string[];
}

/** Parses an archived response; null for one that is no envelope (it was archived all the same, it was paid for). */
export const parseArchived = (header: ArchiveHeader, body: Buffer): ArchivedAnswer | null => {
  if (!isStreamName(header.stream) || !isEndpoint(header.endpoint)) return null;
  const reading = readEnvelope(body.toString("utf8"), header.endpoint);
  if (!reading.ok) return null;
  const detail = archivedDetail.safeParse(header.detail);
  return {
    header,
    stream: header.stream,
    endpoint: header.endpoint,
    query: queryOf(header.url),
    envelope: reading.value,
    read: detail.success ? detail.data.read : null,
    overlap: detail.success ? detail.data.overlap : null,
    granted: detail.success ? detail.data.granted : [],
  };
};

/** Row loads of an archived answer, exactly as they were or would have been live. */
export const archivedLoads = (answer: ArchivedAnswer, walkId: string | null) =>
  loadsOf({
    stream: answer.stream,
    scope: answer.header.scope,
    endpoint: answer.endpoint,
    query: answer.query,
    requestId: answer.header.requestId,
    walkId,
    receivedAt: answer.header.receivedAt,
    data: answer.envelope.data,
    included: answer.envelope.included,
    envelope: answer.envelope.envelope,
    granted: answer.granted,
  });
