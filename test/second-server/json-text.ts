// JSON with whole numbers of any size: ids beyond 2^53 are bigint here and plain digits on the wire.
import { parse, parseNumberAndBigInt } from "lossless-json";

export type Json = null | boolean | number | bigint | string | readonly Json[] | { readonly [name: string]: Json };
export type Fields = { readonly [name: string]: Json };

export const isFields = (value: Json | undefined): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const jsonText = (value: Json): string => {
  if (typeof value === "bigint") return String(value);
  if (Array.isArray(value)) return `[${value.map(jsonText).join(",")}]`;
  if (!isFields(value)) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([name, member]) => `${JSON.stringify(name)}:${jsonText(member)}`)
    .join(",")}}`;
};

/** One text per value, whatever the order of members: equal texts, equal values. */
export const canonical = (value: unknown): string => {
  if (typeof value === "number" && Number.isInteger(value) && Math.abs(value) < 2 ** 53) return String(BigInt(value));
  if (typeof value === "bigint" || typeof value === "number") return String(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(",")}}`;
  }
  return JSON.stringify(value) ?? "nothing";
};

/** Parses text and gives its one form. */
export const canonicalText = (text: string): string => canonical(parse(text, undefined, parseNumberAndBigInt));
