// `included`: related records under keys and in shapes that API.md does not show.
import type { Fields, Json } from "./json-text.ts";
import type { IncludedShape } from "./traits.ts";

const PLURAL: Readonly<Record<string, string>> = { company: "companies", owner: "owners", account: "accounts" };

/** Lists of an insight, in the service's shape; `single-list` names the list after one record. */
export const includedLists = (
  lists: Readonly<Record<string, readonly Fields[]>>,
  shape: IncludedShape,
): Json | undefined => {
  if (shape === "absent" || shape === "refused" || Object.keys(lists).length === 0) return undefined;
  const isMap = shape === "plural-map" || shape === "map-bare";
  return Object.fromEntries(
    Object.entries(lists).map(([name, records]) => [
      shape === "single-list" ? name.slice(0, -1) : name,
      isMap ? byId(records, shape === "map-bare") : [...records],
    ]),
  );
};

const byId = (records: readonly Fields[], bare: boolean): Json =>
  Object.fromEntries(
    records.map((record) => {
      const { id = null, ...rest } = record;
      return [String(id), bare ? rest : record];
    }),
  );

/**
 * `related`: name of `include` → the related record of each row of the answer, null where it has none. A detail has one
 * row. Undefined: nothing is embedded.
 */
export const includedOf = (
  related: Readonly<Record<string, readonly (Fields | null)[]>>,
  shape: IncludedShape,
  single: boolean,
): Json | undefined => {
  if (shape === "absent" || shape === "refused" || Object.keys(related).length === 0) return undefined;
  return Object.fromEntries(
    Object.entries(related).map(([name, perRow]) => {
      const records = [
        ...new Map(perRow.flatMap((each) => (each === null ? [] : [[each.id, each] as const]))).values(),
      ];
      if (single) return [name, records[0] ?? null];
      const plural = PLURAL[name] ?? name;
      if (shape === "single-list") return [name, records];
      if (shape === "per-row") return [plural, [...perRow]];
      if (shape === "plural-list") return [plural, records];
      return [plural, byId(records, shape === "map-bare")];
    }),
  );
};
