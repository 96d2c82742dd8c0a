// Whether a list is asked for its fields by name. The default response comes first, because only it holds fields that
// API.md does not know. A page without a wanted field is asked for again by name, once; its answer is remembered. Pure.
// docs/decisions/fields.md.
import { isContent, type StreamSpec } from "../../catalog/streams.ts";
import { tableSpec } from "../../catalog/tables.ts";
import { isJsonObject, type JsonValue } from "../../core/json.ts";
import { FEW_RECORDS, hasValue } from "./granted-fields.ts";

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
  const { fields } = tableSpec(stream.table);
  const given = fields.filter((field) => isContent(field) && hasValue(records, field.name));
  const documented = new Set(fields.filter((field) => !given.includes(field)).map(({ name }) => name));
  const found = new Set(known);
  for (const record of records) {
    if (!isJsonObject(record)) continue;
    for (const name of Object.keys(record)) if (!documented.has(name) && NAME.test(name)) found.add(name);
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
