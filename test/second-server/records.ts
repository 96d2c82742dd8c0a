// Invents records of API.md's resources, with the values that break careless readers.
import type { Fields, Json } from "./json-text.ts";
import type { Chance } from "./random.ts";
import type { Field } from "./resources.ts";
import { writeTime } from "./times.ts";
import type { Traits } from "./traits.ts";

const WORDS = [
  "Nord",
  "Alpha",
  "Zürich",
  "Kraków",
  "データ",
  "O'Neill",
  "line\nbreak",
  'a "quote"',
  "tab\there",
  "🦆",
  "x",
];
const OLDEST = Date.UTC(2023, 0, 1);
const DAY_MS = 86_400_000;

const word = (chance: Chance): string => chance.pick(["Nord", ...WORDS]);

const object = (chance: Chance, depth = 0): Json => ({
  text: word(chance),
  score: chance.int(0, 1000) / 10,
  ...(chance.often(0.3) ? { large: 9_007_199_254_740_993n + BigInt(chance.int(0, 99)) } : {}),
  ...(chance.often(0.3) ? { nothing: null, yes: true } : {}),
  ...(depth < 2 && chance.often(0.3) ? { "in side.%": object(chance, depth + 1) } : {}),
  list: Array.from({ length: chance.int(0, 3) }, () => word(chance)),
});

/** A value of a field, as a service with these traits writes it. `now`: no moment lies later, ms since the epoch. */
export const inventValue = (field: Field, chance: Chance, { times, records, strangers }: Traits, now: number): Json => {
  const written = (value: number): string => (strangers.zeros ? value.toFixed(4) : String(value));
  const asText = (value: number): Json => (chance.often(records.numbersAsText) ? written(value) : value);
  switch (field.kind) {
    case "text":
      return field.optIn || field.name === "fullContent"
        ? `${word(chance)} `.repeat(chance.int(1, 60))
        : `${word(chance)} ${chance.int(0, 9_999)}`;
    case "whole":
      return asText(chance.int(0, 500_000));
    case "small":
      return asText(field.name === "priority" ? chance.int(1, 3) : field.name === "quarter" ? chance.int(1, 4) : 2024);
    case "score":
      return asText(chance.int(0, 100) / chance.pick([1, 1, 8]));
    case "flag":
      return chance.often(0.5);
    case "object":
      return object(chance);
    case "texts":
      return Array.from({ length: chance.int(0, 4) }, () => word(chance));
    case "time":
    case "day": {
      const at = OLDEST + Math.floor(chance.next() * (now - DAY_MS - OLDEST));
      const form = chance.often(times.mixed) ? "+05:30" : times[field.kind === "day" ? "day" : "moment"];
      return writeTime(at, form, chance.int(0, 999_999));
    }
    default:
      return field.kind satisfies never;
  }
};

/** A record with every required field and most of the others; `own` wins. */
export const inventRecord = (
  fields: readonly Field[],
  own: Fields,
  chance: Chance,
  traits: Traits,
  now: number,
): Fields => {
  const { absent, unknownFields } = traits.records;
  const record: Record<string, Json> = {};
  for (const field of fields) {
    const given = own[field.name];
    if (given !== undefined) record[field.name] = given;
    else if (field.required || chance.often(0.75)) record[field.name] = inventValue(field, chance, traits, now);
    else if (absent === "null" || (absent === "mixed" && chance.often(0.5))) record[field.name] = null;
  }
  if (unknownFields && chance.often(0.5)) {
    record[chance.pick(["internalRank", "x-note", "toString", "Name", "über_feld"])] = object(chance);
  }
  return record;
};
