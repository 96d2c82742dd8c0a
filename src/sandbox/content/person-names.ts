// Generates names of people for a sandbox, from lists of names per locale (names.json). The same seed gives the same names as in all
// earlier versions, so that a generated organization does not change with the program.
// The lists are those of @faker-js/faker 9.9 (MIT licence, Copyright (c) 2022-2025 Faker).
import { z } from "zod";
import { programFile, readProgram } from "../../core/program-files.ts";

export type NameLocale = "cs" | "de" | "en" | "india" | "es" | "fr" | "ja" | "pl" | "brazil" | "sv" | "tr";

export interface PersonName {
  readonly first: string;
  readonly last: string;
}

/** Comma-separated names: one list, or one of women and one of men. */
const listsSchema = z.array(z.string().transform((names) => names.split(","))).min(1);
const localeSchema = z.object({
  first: listsSchema,
  last: listsSchema,
  /** How last names are put together: `{}` is a name of the list. */
  forms: z.array(z.object({ weight: z.number(), form: z.string() })).min(1),
});

type Locale = z.output<typeof localeSchema>;

let known: Readonly<Record<string, unknown>> | null = null;
const locales = new Map<NameLocale, Locale>();

const localeOf = (name: NameLocale): Locale => {
  known ??= z
    .record(z.string(), z.unknown())
    .parse(JSON.parse(readProgram(programFile("src/sandbox/content/names.json")).toString("utf8")));
  const locale = locales.get(name) ?? localeSchema.parse(known[name]);
  locales.set(name, locale);
  return locale;
};

const STATE = 624;
const SHIFT = 397;

/** The next state of the Mersenne Twister (MT19937), in place. */
const twist = (state: Uint32Array): void => {
  for (let i = 0; i < STATE; i++) {
    const mixed = ((state[i] ?? 0) & 0x80000000) | ((state[(i + 1) % STATE] ?? 0) & 0x7fffffff);
    state[i] = (state[(i + SHIFT) % STATE] ?? 0) ^ (mixed >>> 1) ^ (mixed & 1 ? 0x9908b0df : 0);
  }
};

/** Numbers in [0, 1) with 53 random bits, by the Mersenne Twister. */
const twister = (seed: number): (() => number) => {
  const state = new Uint32Array(STATE);
  state[0] = seed;
  for (let i = 1; i < STATE; i++) {
    const previous = state[i - 1] ?? 0;
    state[i] = Math.imul(1812433253, previous ^ (previous >>> 30)) + i;
  }
  let at = STATE;
  const next32 = (): number => {
    if (at === STATE) {
      twist(state);
      at = 0;
    }
    let bits = state[at++] ?? 0;
    bits ^= bits >>> 11;
    bits ^= (bits << 7) & 0x9d2c5680;
    bits ^= (bits << 15) & 0xefc60000;
    return (bits ^ (bits >>> 18)) >>> 0;
  };
  return () => {
    const high = next32() >>> 5;
    return (high * 67_108_864 + (next32() >>> 6)) / 9_007_199_254_740_992;
  };
};

/** Names of people of one locale. The same seed gives the same names. */
export const personNames = (locale: NameLocale, seed: number, count: number): readonly PersonName[] => {
  const { first, last, forms } = localeOf(locale);
  const random = twister(seed);
  const pick = <T>(list: readonly T[]): T | undefined =>
    list.length > 1 ? list[Math.floor(random() * list.length)] : list[0];
  const weights = forms.reduce((sum, { weight }) => sum + weight, 0);
  const pickForm = (): string => {
    let left = random() * weights;
    for (const { weight, form } of forms) {
      left -= weight;
      if (left < 0) return form;
    }
    return "{}";
  };
  const lastName = (): string => {
    const names = pick(last) ?? [];
    return pickForm().replace(/\{\}/g, () => pick(names) ?? "");
  };
  return Array.from({ length: count }, () => ({ first: pick(pick(first) ?? []) ?? "", last: lastName() }));
};
