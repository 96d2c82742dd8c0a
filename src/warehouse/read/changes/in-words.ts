// A change in words for people: what the row is called, and which values became which. Pure.
import { isJsonObject, type JsonObject, type JsonValue } from "../../../core/json.ts";
import { jsonText } from "../../record/json-text.ts";
import type { Change } from "./change.ts";

/** Columns that name a row, the best first. */
const TITLES = ["name", "headline", "title", "input"] as const;
/** Longest text of a value. */
const MOST_CHARACTERS = 60;

const titleOf = (record: JsonObject): string => {
  const { first_name: first, last_name: last } = record;
  const person = [first, last].filter((part) => typeof part === "string").join(" ");
  if (person !== "") return person;
  for (const column of TITLES) {
    const title = record[column];
    if (typeof title === "string" && title !== "") return title;
  }
  return "";
};

const isNested = (value: JsonValue) => Array.isArray(value) || isJsonObject(value);
const valueText = (value: JsonValue): string => {
  if (value === null) return "nothing";
  const text = typeof value === "string" ? value : jsonText(value).text;
  return text.length <= MOST_CHARACTERS ? text : `${text.slice(0, MOST_CHARACTERS - 1)}…`;
};

/** Name of the row (empty: it has none), and `main_score 70.7 → 47.7` per changed field; of an object only its name. */
export const changeInWords = ({ fields, before, after }: Change): { readonly title: string; readonly what: string } => {
  const title = titleOf(after ?? before ?? {});
  if (before === null || after === null) return { title, what: "" };
  const texts = fields.map((field) => {
    const [old, fresh] = [before[field] ?? null, after[field] ?? null];
    return isNested(old) || isNested(fresh) ? field : `${field} ${valueText(old)} → ${valueText(fresh)}`;
  });
  return { title, what: texts.join(", ") };
};
