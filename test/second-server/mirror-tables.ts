// Compares the mirror with what is expected, cell by cell. Knows only the tables of docs/DATA.md.
import type { ExpectedTable } from "./expected.ts";
import { canonical, canonicalText, type Json } from "./json-text.ts";
import type { MirrorContents } from "./mirror-contents.ts";
import type { Kind } from "./resources.ts";
import { microsOf } from "./times.ts";

/** End of the sentence about a row that the mirror holds and the service does not. */
export const NOT_THERE = "not in the service";
/** End of the sentence about a row that the mirror lacks. */
export const NOT_MIRRORED = "not in the mirror";

const TYPE_OF: Record<Kind, string> = {
  text: "VARCHAR",
  whole: "BIGINT",
  small: "INTEGER",
  score: "DOUBLE",
  flag: "BOOLEAN",
  time: "TIMESTAMP WITH TIME ZONE",
  day: "TIMESTAMP WITH TIME ZONE",
  object: "JSON",
  texts: "VARCHAR[]",
};

const OWN_COLUMNS = ["_first_synced_at", "_synced_at", "_run_id", "_extra", "_in_scope", "resolved_at"];
const columnOf = (field: string) => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const wanted = (kind: Kind, value: Json | undefined): string => {
  if (value === undefined || value === null) return "absent";
  if (kind === "time" || kind === "day") return String(microsOf(String(value)));
  if (kind === "whole" || kind === "small") return String(BigInt(String(value).replace(/\.0+$/, "")));
  if (kind === "score") return String(Number(value));
  return kind === "text" ? String(value) : canonical(value);
};

const held = (kind: Kind, cell: unknown): string => {
  if (cell === null) return "absent";
  if (kind === "score") return String(Number(cell));
  return kind === "object" || kind === "texts" ? canonicalText(String(cell)) : String(cell);
};

const cut = (text: string) => (text.length > 90 ? `${text.slice(0, 90)}…` : text);

const membersOf = (text: unknown): ReadonlyMap<string, string> => {
  if (typeof text !== "string") return new Map();
  const parsed: unknown = JSON.parse(canonicalNumbers(text));
  if (typeof parsed !== "object" || parsed === null) return new Map();
  return new Map(Object.entries(parsed).map(([name, value]) => [name, canonical(value)]));
};
/** Whole numbers of any size as text, so that `JSON.parse` does not round them. */
const canonicalNumbers = (text: string): string => canonicalText(text);

/**
 * Fields without a column (`known`: those with one) must be in `_extra`; a field with one may be, where its column does
 * not say all.
 */
const extraProblems = (
  where: string,
  record: Readonly<Record<string, Json>>,
  known: ReadonlySet<string> | null,
  cell: unknown,
): readonly string[] => {
  const extra = membersOf(cell);
  const problems: string[] = [];
  for (const [name, value] of Object.entries(record)) {
    const text = extra.get(name);
    const right = JSON.stringify(JSON.parse(canonical(value)));
    if (text === undefined && known !== null && !known.has(name)) problems.push(`${where} _extra lacks ${name}`);
    if (text !== undefined && JSON.stringify(JSON.parse(text)) !== right) {
      problems.push(`${where} _extra.${name}: service ${cut(right)}, mirror ${cut(text)}`);
    }
  }
  for (const name of extra.keys()) if (!(name in record)) problems.push(`${where} _extra has ${name}`);
  return problems;
};

const problemsOf = async (
  contents: MirrorContents,
  name: string,
  expected: ExpectedTable,
): Promise<readonly string[]> => {
  const problems: string[] = [];
  const types = await contents.types(name);
  for (const { name: field, kind } of expected.fields) {
    const type = types.get(columnOf(field));
    if (type !== TYPE_OF[kind]) problems.push(`${name}.${columnOf(field)} is ${type}, not ${TYPE_OF[kind]}`);
  }
  const documented = new Set([...expected.fields.map((field) => columnOf(field.name)), ...OWN_COLUMNS]);
  for (const column of types.keys()) if (!documented.has(column)) problems.push(`${name}.${column} is no column of it`);
  if (problems.length > 0) return problems;

  const columns = expected.fields.map((field) => columnOf(field.name));
  const known = new Set(expected.fields.map((field) => field.name));
  const seen = new Set<string>();
  for (const { key, extra, cells } of await contents.rows(name, expected.key, columns)) {
    const where = `${name} ${key}`;
    if (seen.has(key)) problems.push(`${where}: twice`);
    seen.add(key);
    const record = expected.rows.get(key);
    if (record === undefined) {
      if (!expected.mayHold(key)) problems.push(`${where}: ${NOT_THERE}`);
      continue;
    }
    expected.fields.forEach((field, at) => {
      const [right, is] = [wanted(field.kind, record[field.name]), held(field.kind, cells[at] ?? null)];
      if (right === is) return;
      if (expected.optional.has(field.name) && (is === "absent" || expected.keepsOld(key))) return;
      problems.push(`${where} ${columnOf(field.name)}: service ${cut(right)}, mirror ${cut(is)}`);
    });
    if (name !== "owners" && name !== "account_insights")
      problems.push(...extraProblems(where, record, expected.named ? null : known, extra));
  }
  for (const key of expected.rows.keys()) if (!seen.has(key)) problems.push(`${name} ${key}: ${NOT_MIRRORED}`);
  return problems;
};

/** Every way in which the mirror differs; empty when it equals the service. */
export const tableProblems = async (
  contents: MirrorContents,
  tables: Readonly<Record<string, ExpectedTable>>,
): Promise<readonly string[]> => {
  const problems: string[] = [];
  for (const [name, expected] of Object.entries(tables)) problems.push(...(await problemsOf(contents, name, expected)));
  return problems;
};
