// Field types of the catalog, with which resources.ts describes each field: its type in the API and its column in the warehouse. Source:
// API.md, "Resources and their fields".

type ApiType = "string" | "number" | "boolean" | "object" | "string[]";

export type ColumnType = "VARCHAR" | "BIGINT" | "INTEGER" | "DOUBLE" | "BOOLEAN" | "TIMESTAMPTZ" | "JSON" | "VARCHAR[]";

export interface FieldSpec {
  /** Name in the API, e.g. `mainScore`. */
  readonly name: string;
  /** Column in the warehouse, e.g. `main_score`. */
  readonly column: string;
  readonly apiType: ApiType;
  readonly columnType: ColumnType;
  readonly required: boolean;
  /** Returned only when named in `onlyWithFields` (API.md, "Opt-in fields"). */
  readonly optIn: boolean;
  /** Returned for certain only by the detail route; its absence in a list means nothing. */
  readonly detailOnly: boolean;
  /** Documented only as a name for `onlyWithFields`; its absence in a response means nothing. */
  readonly namedOnly: boolean;
  /** Holds the id of another record. */
  readonly isReference: boolean;
  /** Meaning of the field in one sentence, for the data dictionary. */
  readonly meaning: string;
  /** Documented values of an enumeration; other values are stored unchanged. */
  readonly allowed?: readonly (string | number)[];
}

type Draft = Omit<FieldSpec, "name" | "column">;
type Flags = Partial<Pick<FieldSpec, "required" | "optIn" | "detailOnly" | "namedOnly" | "isReference" | "allowed">>;

const kind =
  (apiType: ApiType, columnType: ColumnType) =>
  (meaning: string, flags: Flags = {}): Draft => ({
    apiType,
    columnType,
    required: false,
    optIn: false,
    detailOnly: false,
    namedOnly: false,
    isReference: false,
    meaning,
    ...flags,
  });

/** Text. */
export const text = kind("string", "VARCHAR");
/** Id of another record, as text. */
export const reference = (meaning: string): Draft => text(meaning, { isReference: true });
/** Numeric id or count: exact up to 64 bits. */
export const integer = kind("number", "BIGINT");
/** Small whole number: priority, year, quarter. */
export const small = kind("number", "INTEGER");
/** Score. */
export const score = kind("number", "DOUBLE");
export const flag = kind("boolean", "BOOLEAN");
/** ISO 8601 date or time; date-only means midnight UTC. */
export const time = kind("string", "TIMESTAMPTZ");
/** Object whose inner structure the API document does not show. */
export const json = kind("object", "JSON");
/** List of strings. */
export const texts = kind("string[]", "VARCHAR[]");

/** `mainScore` → `main_score`. */
export const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Field specs in written order. */
export const fields = (drafts: Readonly<Record<string, Draft>>): readonly FieldSpec[] =>
  Object.entries(drafts).map(([name, draft]) => ({ name, column: snakeCase(name), ...draft }));

/** Fields that are days, not times; main stores them as midnight UTC. */
export const DATE_ONLY: readonly string[] = [
  "inCurrentRoleSince",
  "postedOn",
  "filingDate",
  "reportDate",
  "clinicalTrialPrimaryCompletionDate",
  "clinicalTrialStudyCompletionDate",
];
