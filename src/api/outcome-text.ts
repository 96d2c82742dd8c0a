// A request and what became of it, in words for messages.
import { ENDPOINTS } from "../catalog/endpoints.ts";
import type { ApiOutcome } from "./outcome.ts";

/** The request as text for messages: stream, route with ids, page. */
export const endpointOf = ({ call }: ApiOutcome, stream: string | undefined): string => {
  const { page } = call.query;
  const where = `${ENDPOINTS[call.endpoint].method} ${call.path}${page === undefined ? "" : `, page ${page}`}`;
  return stream === undefined ? where : `${stream} (${where})`;
};

/** Most characters of an error body in a message. */
const MOST_QUOTED = 300;

/** Body of a refusal as text for people: the title of an HTML page, the start of anything else. */
const quoted = (excerpt: string): string => {
  if (excerpt.startsWith("<")) {
    const title = /<title[^>]*>([^<]{1,200})/i.exec(excerpt)?.[1]?.trim();
    return title === undefined ? ", a page of HTML" : `, a page titled "${title}"`;
  }
  if (excerpt === "") return "";
  return `, ${excerpt.length > MOST_QUOTED ? `${excerpt.slice(0, MOST_QUOTED)}…` : excerpt}`;
};

/** Cause of a failure as text; empty for success. */
export const causeOf = (outcome: ApiOutcome): string => {
  switch (outcome.kind) {
    case "refused":
      return `status ${outcome.status}${quoted(outcome.excerpt)}`;
    case "broken":
    case "invalid":
      return outcome.detail;
    case "ok":
      return "";
    default:
      return outcome satisfies never;
  }
};
