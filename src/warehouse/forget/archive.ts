// Erases people from the archive: bodies, request records, the journal. Each file is rewritten beside the old one and
// renamed over it, so a crash leaves one of the two, whole. A record that an earlier crash cut off is dropped.

import { readOwnText, replaceFile, rewriteWith } from "../../core/files/own-files.ts";
import type { IdEraser } from "../../core/forgotten.ts";
import { mapTexts } from "../../core/forgotten.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/json.ts";
import { type ArchiveHeader, INTENTS, RESPONSES, responseRecord } from "../archive/archive.ts";
import { archiveFiles, records } from "../archive/read-archive.ts";
import { journalFiles } from "../journal/read-journal.ts";

/** Functions of the layers above that understand bodies. */
export interface ArchiveBodies {
  /** Contact records in a body. */
  readonly contacts: (header: ArchiveHeader, body: Buffer) => readonly JsonObject[];
  /** The body without the erased people; null if it needs no change. */
  readonly clean: (header: ArchiveHeader, body: Buffer) => Buffer | null;
}

export async function* archivedContacts(dir: string, bodies: ArchiveBodies): AsyncIterable<JsonObject> {
  for (const file of await archiveFiles(dir, RESPONSES)) {
    for await (const { header, body } of records(file)) yield* bodies.contacts(header, body);
  }
}

const cleanHeader = (header: ArchiveHeader, eraser: IdEraser): ArchiveHeader => {
  const url = eraser.anywhere(header.url);
  const scope = eraser.anywhere(header.scope);
  return url === header.url && scope === header.scope ? header : { ...header, url, scope };
};

/** True when a file holds something to erase, or ends with a cut-off record that may hold it. */
const needsCleaning = async (file: string, bodies: ArchiveBodies, eraser: IdEraser): Promise<boolean> => {
  let torn = false;
  const onTorn = () => {
    torn = true;
  };
  for await (const { header, body } of records(file, onTorn)) {
    if (cleanHeader(header, eraser) !== header || bodies.clean(header, body) !== null) return true;
  }
  return torn;
};

const cleanResponses = (file: string, bodies: ArchiveBodies, eraser: IdEraser): Promise<void> =>
  rewriteWith(file, async (fresh) => {
    for await (const { header, body } of records(file)) {
      const bytes = bodies.clean(header, body) ?? body;
      const cleaned = { ...cleanHeader(header, eraser), bytes: bytes.length };
      await fresh.appendFile(await responseRecord(cleaned, { bytes, encoding: "identity" }));
    }
  });

const parsed = (line: string): JsonValue | undefined => {
  try {
    const value: JsonValue = JSON.parse(line);
    return value;
  } catch {
    return undefined;
  }
};

const ofContacts = (value: JsonObject): boolean => value.stream === "contacts" || value.table === "contacts";

/** Erase a contact's id as a whole value only in contact data: elsewhere the same text may be another id. */
const cleanJson = (value: JsonValue, eraser: IdEraser): JsonValue => {
  if (typeof value === "string") return eraser.anywhere(value);
  if (Array.isArray(value)) {
    const items = value.map((item: JsonValue) => cleanJson(item, eraser));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  if (!isJsonObject(value)) return value;
  if (ofContacts(value)) return mapTexts(value, eraser.among);
  const entries = Object.entries(value).map(([name, item]) => [name, cleanJson(item, eraser)] as const);
  return entries.some(([name, item]) => item !== value[name]) ? Object.fromEntries(entries) : value;
};

const cleanLine = (line: string, eraser: IdEraser): string => {
  const value = parsed(line);
  // Readers skip a line that a crash cut off. A short id in it would not be found.
  if (value === undefined) return "";
  const clean = cleanJson(value, eraser);
  return clean === value ? line : JSON.stringify(clean);
};

const cleanLines = async (file: string, eraser: IdEraser): Promise<boolean> => {
  const text = await readOwnText(file);
  const clean = text
    .split("\n")
    .map((line) => (line === "" ? line : cleanLine(line, eraser)))
    .join("\n");
  if (clean === text) return false;
  await replaceFile(file, clean);
  return true;
};

/** Cleans every archive file that needs it. Returns their number. Throws DISK_FULL. */
export const cleanArchive = async (dir: string, bodies: ArchiveBodies, eraser: IdEraser): Promise<number> => {
  let cleaned = 0;
  for (const file of await archiveFiles(dir, RESPONSES)) {
    if (!(await needsCleaning(file, bodies, eraser))) continue;
    await cleanResponses(file, bodies, eraser);
    cleaned += 1;
  }
  for (const file of [...(await archiveFiles(dir, INTENTS)), ...(await journalFiles(dir))]) {
    if (await cleanLines(file, eraser)) cleaned += 1;
  }
  return cleaned;
};
