// Vocabulary: names of streams, tables and opt-in fields that the configuration may use, from the catalog. PURE.
import type { Vocabulary } from "../core/config/settings.ts";
import { ruledTables } from "./field-rules.ts";
import { STREAM_NAMES, type StreamName, streamSpec, wantedContent } from "./streams.ts";
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

/** One opt-in field of a stream. */
export interface ContentField {
  readonly stream: StreamName;
  readonly field: string;
  readonly meaning: string;
}

/** Every opt-in field, by stream. */
export const contentFields = (): readonly ContentField[] => {
  const everyField = TABLE_NAMES.flatMap((table) => tableSpec(table).fields.map((field) => field.name));
  return STREAM_NAMES.flatMap((stream) =>
    wantedContent(streamSpec(stream), everyField).map(({ name, meaning }) => ({ stream, field: name, meaning })),
  );
};

/** Names of the setting `content`: of a field in every stream that has it, and in one stream. */
const contentNames = (): readonly string[] => {
  const all = contentFields();
  return [...new Set([...all.map(({ field }) => field), ...all.map(({ stream, field }) => `${stream}.${field}`)])];
};

/** Names that the configuration may use, from the catalog. */
export const vocabulary = (): Vocabulary => ({
  streams: STREAM_NAMES,
  content: contentNames(),
  comesWith: COMES_WITH,
  fields: ruledTables(),
});
