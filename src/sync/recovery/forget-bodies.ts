// Finds the contacts in archived response bodies, and removes erased ones from them, for `forget`. warehouse/forget rewrites the files.
import { createRedactor } from "../../api/redact.ts";
import { streamSpec } from "../../catalog/streams.ts";
import { forgottenHash, forgottenRecord, mapTexts } from "../../core/forgotten.ts";
import { exactJson, isJsonObject, type JsonObject, type JsonValue } from "../../core/json.ts";
import type { ArchiveHeader } from "../../warehouse/archive/archive.ts";
import type { ArchiveBodies } from "../../warehouse/forget/archive.ts";
import type { Forgetting } from "../../warehouse/forget/forget.ts";
import { embeddedRecords } from "../rows/granted-fields.ts";
import { idOf } from "../rows/loads.ts";
import { readArchived } from "./archived-response.ts";

/**
 * Hash for a record without a usable id that holds an address or number of an erased contact; its owner is not
 * recorded.
 */
const NOBODY = "0".repeat(64);
/** Replaces a body that cannot be parsed and mentions an erased contact. */
const EMPTY = Buffer.from("{}");

/** How contacts come along with other records. */
const EMBEDDED = streamSpec("account_insights").embeds.filter(({ table }) => table === "contacts");

const itemsOf = (value: JsonValue | undefined): readonly JsonValue[] => {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
};

const ofContacts = (header: ArchiveHeader) => header.endpoint === "listContacts" || header.endpoint === "getContact";

/** Functions that find these people in bodies and remove them. */
export const createForgetBodies = ({ find, eraser, holdsTrace }: Forgetting): ArchiveBodies => {
  const none = { exclude: [], hash: [], hashOf: () => "" };
  const redact = createRedactor({ ...none, forgotten: find, anyForgotten: true });

  const withoutNameless = (data: JsonValue): JsonValue => {
    if (!Array.isArray(data)) return data;
    const items = data.map((item: JsonValue) => {
      const nameless = forgottenHash(item) === null && (idOf(item) ?? "") === "";
      return nameless && holdsTrace(exactJson(item)) ? forgottenRecord(NOBODY) : item;
    });
    return items.some((item, index) => item !== data[index]) ? items : data;
  };

  const contacts = (header: ArchiveHeader, body: Buffer): readonly JsonObject[] => {
    if (!ofContacts(header) && !body.includes('"contact')) return [];
    const envelope = readArchived(header, body)?.envelope;
    if (envelope === undefined) return [];
    const own = ofContacts(header) ? itemsOf(envelope.data) : [];
    const along = EMBEDDED.flatMap((embed) => embeddedRecords(envelope.included, embed));
    return [...own, ...along].filter(isJsonObject);
  };

  const clean = (header: ArchiveHeader, body: Buffer): Buffer | null => {
    const text = body.toString("utf8");
    const read = readArchived(header, body);
    if (read === null || redact === null) return holdsTrace(text) || eraser.anywhere(text) !== text ? EMPTY : null;
    const before = read.envelope.envelope;
    let after = redact(before, read.endpoint);
    if (ofContacts(header) && after.data !== undefined) {
      const data = withoutNameless(after.data);
      if (data !== after.data) after = { ...after, data };
    }
    const named = eraser.mayHold(text) ? mapTexts(after, eraser.anywhere) : after;
    return named === before ? null : Buffer.from(exactJson(named));
  };

  return { contacts, clean };
};
