// Whether a client has an answer already, by the tags it names in If-None-Match.

/** A tag without its mark as a weak one: a proxy that compresses an answer adds it. */
const bare = (tag: string): string => tag.trim().replace(/^W\//, "");

/** Compares tags as RFC 9110, section 13.1.2 says. `*` names no answer: what it asks for may not exist. */
export const isKnown = (header: string | undefined, etag: string): boolean =>
  header?.split(",").some((tag) => bare(tag) === bare(etag)) ?? false;
