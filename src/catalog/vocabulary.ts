// Vocabulary: names of streams, tables and opt-in fields that the configuration may use, from the catalog. PURE.
import type { Vocabulary } from "../core/config/settings.ts";
import { ruledTables } from "./field-rules.ts";
import { STREAM_NAMES, streamSpec, wantedContent } from "./streams.ts";
import { TABLE_NAMES, tableSpec } from "./tables.ts";

/** Tables without a stream of their own → the stream that fills them. */
const COMES_WITH: Readonly<Record<string, string>> = {
  owners: "accounts",
  company_inputs: "companies",
  usage_snapshots: "usage",
  usage_breakdown: "usage",
  usage_requests: "usage",
  usage_limits: "usage",
};

const contentFields = (): readonly string[] => {
  const everyField = TABLE_NAMES.flatMap((table) => tableSpec(table).fields.map((field) => field.name));
  const perStream = STREAM_NAMES.map((name) => ({ name, fields: wantedContent(streamSpec(name), everyField) }));
  const plain = perStream.flatMap(({ fields }) => fields.map((field) => field.name));
  const qualified = perStream.flatMap(({ name, fields }) => fields.map((field) => `${name}.${field.name}`));
  return [...new Set([...plain, ...qualified])];
};

/** Names that the configuration may use, from the catalog. */
export const vocabulary = (): Vocabulary => ({
  streams: STREAM_NAMES,
  content: contentFields(),
  comesWith: COMES_WITH,
  fields: ruledTables(),
});
