// Reads from a response which optional parts the service grants: embedded records, and fields that only some plans have. Decides whether
// later requests must name such fields. Pure. docs/decisions/fields.md.
import { type EmbedSpec, isContent, type StreamSpec } from "../../catalog/streams.ts";
import { type TableName, tableSpec } from "../../catalog/tables.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/json.ts";

// Records embedded by `include`, from `included` in any of its possible shapes. API.md shows none; accepted are {company: {...}},
// {companies: [...]}, {company: [...]} and maps by id.

const hasId = ({ id }: JsonObject): boolean => id !== undefined && id !== null;

/**
 * Records of an object without an id whose values are records (a map by id). The key becomes the id of a record
 * without one.
 */
const fromMap = (map: JsonObject): readonly JsonValue[] => {
  const values = Object.entries(map).filter(([, value]) => value !== null);
  // No value is an object, so this is one record without an id.
  if (!values.some(([, value]) => isJsonObject(value))) return values.length === 0 ? [] : [map];
  return values.map(([id, value]) =>
    isJsonObject(value) && !hasId(value)
      ? Object.defineProperty({ ...value }, "id", { value: id, enumerable: true })
      : value,
  );
};

const recordsIn = (value: JsonValue): readonly JsonValue[] => {
  if (Array.isArray(value)) return value.includes(null) ? value.filter((item) => item !== null) : value;
  if (!isJsonObject(value)) return [value];
  return hasId(value) ? [value] : fromMap(value);
};

/**
 * Records of one embedding. Values that are no record, or lack an id, are included: loading rejects and keeps them.
 */
export const embeddedRecords = (included: JsonObject | null, embed: EmbedSpec): readonly JsonValue[] => {
  const records: JsonValue[] = [];
  for (const key of included === null ? [] : embed.keys) {
    const value = included?.[key] ?? null;
    if (value !== null) records.push(...recordsIn(value));
  }
  return records;
};

/**
 * An embedded record without heavy fields that are not configured. The list would not bring them with the record's next
 * version, so the column would contradict its row (docs/decisions/fields.md). `kept`: those that are
 * taken.
 */
export const withoutContent = (record: JsonValue, table: TableName, kept: readonly string[] = []): JsonValue => {
  if (!isJsonObject(record)) return record;
  const left = tableSpec(table).fields.filter((field) => isContent(field) && !kept.includes(field.name));
  if (!left.some(({ name }) => Object.hasOwn(record, name))) return record;
  return Object.fromEntries(Object.entries(record).filter(([name]) => !left.some((field) => field.name === name)));
};

// Granted fields: optional fields that a list returns on request, and whether it is asked for them by name. API.md does not say
// which, so responses decide: a record with a value proves the grant; a page without any value counts against it.

/** A page with fewer records proves nothing, because perhaps none of them has a value. */
const FEW_RECORDS = 20;

/** True when a record has a value; null proves as little as absence. */
const hasValue = (records: readonly JsonValue[], name: string): boolean => {
  for (const record of records) if (isJsonObject(record) && (record[name] ?? null) !== null) return true;
  return false;
};

/**
 * Uncertain fields that this response returns: a record has a value, or the list is known to return the field and the
 * page is too short to disprove it.
 */
export const grantedFields = (
  table: TableName,
  records: readonly JsonValue[],
  known: readonly string[],
): ReadonlySet<string> => {
  const granted = new Set<string>();
  for (const { name } of tableSpec(table).uncertain) {
    if (hasValue(records, name) || (known.includes(name) && records.length < FEW_RECORDS)) granted.add(name);
  }
  return granted;
};

/** Fields and embedded records that a list returns on request, and those that it does not. */
export interface Grants {
  readonly grants: readonly string[];
  readonly lacks: readonly string[];
}

/** The grants after one more page. `query`: parameters of the page's request. */
export const grantsAfter = (
  known: Grants,
  stream: StreamSpec,
  query: Readonly<Record<string, string>>,
  page: { readonly records: readonly JsonValue[]; readonly included: JsonObject | null },
): Grants => {
  const { records } = page;
  const grants = new Set(known.grants);
  const lacks = new Set(known.lacks);
  const note = (name: string, seen: boolean, asked: boolean, fewest = FEW_RECORDS) => {
    if (seen) {
      grants.add(name);
      lacks.delete(name);
    } else if (asked && records.length > 0 && !(grants.has(name) && records.length < fewest)) {
      grants.delete(name);
      lacks.add(name);
    }
  };
  const named = query.onlyWithFields?.split(",") ?? [];
  for (const { name } of tableSpec(stream.table).uncertain) {
    note(name, hasValue(records, name), named.includes(name));
  }
  const included = query.include?.split(",") ?? [];
  for (const embed of stream.embeds) {
    const asked = included.includes(embed.include) && hasValue(records, embed.parentField ?? "id");
    // A record that names its related one has it, so a single one proves that it was not embedded.
    const fewest = embed.parentField === undefined ? FEW_RECORDS : 1;
    note(embed.include, embeddedRecords(page.included, embed).length > 0, asked, fewest);
  }
  return { grants: [...grants].sort(), lacks: [...lacks].sort() };
};

// Whether a list is asked for its fields by name. The default response comes first, because only it holds fields that
// API.md does not know. A page without a wanted field is asked for again by name, once; its answer is remembered.

/** What earlier pages have shown about the fields of a list. */
export interface FieldChoice {
  /** Fields that a default response held. */
  readonly inDefault: readonly string[];
  /** Fields that only responses hold that named them. */
  readonly byName: readonly string[];
  /** Records of the largest page that was asked for fields by name and held none of them. */
  readonly namedInVain: number;
  /**
   * Fields of default responses that a request by name does not list by itself: those that API.md does not know, and heavy
   * ones. null: the service refuses unknown names.
   */
  readonly unknown: readonly string[] | null;
}

/** A service whose pages hold fewer records proves little with one of them: such a list keeps the names it was asked by. */
const SMALL_PAGE = 5;

/** Names of fields that a request may hold. */
const NAME = /^[A-Za-z_]\w{0,63}$/;
/** Names of unknown fields in one request, so that its address stays short. */
const MOST_UNKNOWN = 40;

/** `FieldChoice.unknown` after one more default response. What the service gives without being asked stays, also by name. */
const unknownAfter = (known: readonly string[], stream: StreamSpec, records: readonly JsonValue[]) => {
  const listed = new Set<string>();
  for (const field of tableSpec(stream.table).fields) {
    if (!isContent(field) || !hasValue(records, field.name)) listed.add(field.name);
  }
  const found = new Set(known);
  for (const record of records) {
    if (!isJsonObject(record)) continue;
    for (const name of Object.keys(record)) if (!listed.has(name) && NAME.test(name)) found.add(name);
  }
  return [...found].slice(0, MOST_UNKNOWN).sort();
};

/** One page, and the wanted fields that a default response may lack. */
interface ChosenPage {
  readonly wanted: readonly string[];
  readonly named: boolean;
  readonly records: readonly JsonValue[];
  /** Fields that the list is known not to return, even by name. */
  readonly lacks: readonly string[];
  /** Most records of a page of this list. */
  readonly perPage: number;
}

/** True for a missing field that the service may return if it is named. */
const isOpen = (choice: FieldChoice, { records, lacks, perPage }: ChosenPage, name: string): boolean => {
  const { length } = records;
  if (choice.inDefault.includes(name) && length < FEW_RECORDS) return false;
  // A few records without a value proved little, so more records are asked again.
  const provedLittle = choice.namedInVain < FEW_RECORDS && length >= Math.min(FEW_RECORDS, 2 * choice.namedInVain);
  return !lacks.includes(name) || provedLittle || perPage < SMALL_PAGE;
};

/** What is known after one more page, and whether it must be asked for again with names. */
export const choiceAfter = (
  choice: FieldChoice,
  stream: StreamSpec,
  page: ChosenPage,
): { readonly choice: FieldChoice; readonly again: boolean } => {
  const { wanted, named, records, lacks, perPage } = page;
  if (records.length === 0) return { choice, again: false };
  if (named) {
    const vain = perPage < SMALL_PAGE ? [] : choice.byName.filter((name) => lacks.includes(name));
    // A list that is always asked by name, because fields are excluded, shows as well that names bring the fields.
    const brought = wanted.filter((name) => !choice.inDefault.includes(name) && hasValue(records, name));
    const byName = [...new Set([...choice.byName, ...brought])].filter((name) => !vain.includes(name)).sort();
    const namedInVain = vain.length === 0 ? choice.namedInVain : Math.max(choice.namedInVain, records.length);
    return { choice: { ...choice, byName, namedInVain }, again: false };
  }
  const held = wanted.filter((name) => hasValue(records, name));
  const open = wanted.filter((name) => !held.includes(name) && isOpen(choice, page, name));
  const unknown = choice.unknown === null ? null : unknownAfter(choice.unknown, stream, records);
  const inDefault = [...new Set([...choice.inDefault, ...held])].filter((name) => !open.includes(name)).sort();
  const byName = [...new Set([...choice.byName, ...open])].filter((name) => !held.includes(name)).sort();
  return { choice: { ...choice, inDefault, byName, unknown }, again: open.length > 0 };
};

/** True while no page has shown whether fields must be named, so that the first may be asked for twice. */
export const isChoiceOpen = ({ inDefault, byName, namedInVain }: FieldChoice): boolean =>
  inDefault.length === 0 && byName.length === 0 && namedInVain === 0;
