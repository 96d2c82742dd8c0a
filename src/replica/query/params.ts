// Parameters of one request, validated against the route's table and read by type. PURE.
// Unknown parameters are ignored, as usual in HTTP APIs; known ones with a wrong value are refused with 400.

import type { ParamSpec, RouteSpec } from "../../catalog/endpoints.ts";
import type { FieldSpec } from "../../catalog/fields.ts";
import { type TableName, tableSpec } from "../../catalog/tables.ts";
import { timeMs } from "../../core/time.ts";
import { Refusal } from "../refusal.ts";

// Fields of a response: `onlyWithFields`, opt-in fields, and fields of the detail route only. PURE.
// Source: API.md, "Conventions common to all endpoints" and "GET /v1/signals/{signalId}".

/**
 * Without `onlyWithFields`: all fields except opt-in ones; lists also omit fields that only the detail route returns.
 */
export const defaultFields = (table: TableName, detail: boolean): readonly FieldSpec[] =>
  tableSpec(table).fields.filter((field) => !field.optIn && (detail || !field.detailOnly));

interface FieldChoice {
  readonly fields: readonly FieldSpec[];
  /** True when the caller named fields: exactly those are returned, and no unknown ones. */
  readonly named: boolean;
}

/** Throws a 400 refusal for a name that is not a field of the resource. */
export const chooseFields = (table: TableName, params: Params, detail: boolean): FieldChoice => {
  const names = params.list("onlyWithFields");
  if (names.length === 0) return { fields: defaultFields(table, detail), named: false };
  const known = tableSpec(table).fields;
  const unknown = names.find((name) => !known.some((field) => field.name === name));
  if (unknown !== undefined) throw new Refusal("bad_request", `onlyWithFields names the unknown field "${unknown}".`);
  return { fields: known.filter((field) => names.includes(field.name)), named: true };
};

/** Query as received: of a repeated name, the last value counts. */
export type RawQuery = Readonly<Record<string, string>>;

const ISO_TIME = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/i;

/** Whole number within 64 bits, the limit of the columns. */
const isId = (value: string): boolean => /^\d{1,19}$/.test(value) && BigInt(value) <= 0x7fff_ffff_ffff_ffffn;

/** `a, b,,c` → `["a", "b", "c"]`. */
const splitCommas = (value: string): readonly string[] =>
  value
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");

const isIsoTime = (value: string): boolean => ISO_TIME.test(value) && timeMs(value) !== null;

const complaint = (spec: ParamSpec, value: string): string | undefined => {
  switch (spec.type) {
    case "text":
    case "csv":
      return undefined;
    case "number": {
      if (!isId(value)) return "must be a whole number";
      if (spec.min !== undefined && Number(value) < spec.min) return `must be at least ${spec.min}`;
      if (spec.max !== undefined && Number(value) > spec.max) return `must be at most ${spec.max}`;
      return undefined;
    }
    case "date":
      return isIsoTime(value) ? undefined : "must be an ISO 8601 date";
    case "choice":
      return spec.allowed?.includes(value) ? undefined : `must be one of ${spec.allowed?.join(", ")}`;
    case "choices": {
      const wrong = splitCommas(value).find((part) => !spec.allowed?.includes(part));
      return wrong === undefined ? undefined : `has the unknown value "${wrong}"; known: ${spec.allowed?.join(", ")}`;
    }
    default: {
      const never: never = spec.type;
      return never;
    }
  }
};

/** Validated parameters. An empty value counts as absent. */
export class Params {
  readonly #values: ReadonlyMap<string, string>;

  private constructor(values: ReadonlyMap<string, string>) {
    this.#values = values;
  }

  /** Throws a 400 refusal that names the first parameter with a wrong value. */
  static parse(route: RouteSpec, path: RawQuery, query: RawQuery): Params {
    const values = new Map<string, string>();
    for (const [specs, raw] of [
      [route.pathParams, path],
      [route.query, query],
    ] as const) {
      for (const spec of specs) {
        const value = raw[spec.name];
        if (value === undefined || value === "") {
          if (spec.default !== undefined) values.set(spec.name, String(spec.default));
          continue;
        }
        const wrong = complaint(spec, value);
        if (wrong !== undefined) throw new Refusal("bad_request", `${spec.name} ${wrong}.`);
        values.set(spec.name, value);
      }
    }
    return new Params(values);
  }

  text(name: string): string | undefined {
    return this.#values.get(name);
  }

  list(name: string): readonly string[] {
    return splitCommas(this.#values.get(name) ?? "");
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }

  /** A number with a default in the table, or required by the route. */
  number(name: string): number {
    const value = this.#values.get(name);
    if (value === undefined) throw new Refusal("bad_request", `${name} is required.`);
    return Number(value);
  }

  /** Whole numbers as text, so that 64-bit ids stay exact; undefined when the parameter is absent. */
  ids(name: string): readonly string[] | undefined {
    if (!this.#values.has(name)) return undefined;
    const parts = this.list(name);
    const wrong = parts.find((part) => !isId(part));
    if (wrong !== undefined) throw new Refusal("bad_request", `${name} holds "${wrong}", which is not an id.`);
    return parts;
  }
}
