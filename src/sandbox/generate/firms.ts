// Generates the companies of a sandbox: name, industry, place, people. All other generated content refers to them.

import { type NameLocale, type PersonName, personNames } from "../content/person-names.ts";
import type { Slots } from "../content/speech.ts";
import { INDUSTRIES, type Industry, NAME_STEMS } from "../content/words.ts";
import { createRandom, hash, type Random } from "../random.ts";

// Headquarters of the generated companies.

interface Place {
  readonly city: string;
  readonly region: string;
  /** ISO 3166 alpha-2. */
  readonly countryCode: string;
  readonly locale: NameLocale;
  /** Top-level domains in use there. */
  readonly domains: readonly string[];
  /** Calling code for phone numbers. */
  readonly dial: string;
}

const place = (
  city: string,
  region: string,
  countryCode: string,
  locale: NameLocale,
  dial: string,
  ...domains: string[]
): Place => ({ city, region, countryCode, locale, dial, domains });

export const PLACES: readonly Place[] = [
  place("Austin", "Texas", "US", "en", "+1", "com", "io"),
  place("Boston", "Massachusetts", "US", "en", "+1", "com", "ai"),
  place("San Francisco", "California", "US", "en", "+1", "com", "io", "ai"),
  place("New York", "New York", "US", "en", "+1", "com"),
  place("Chicago", "Illinois", "US", "en", "+1", "com"),
  place("Denver", "Colorado", "US", "en", "+1", "com", "co"),
  place("Raleigh", "North Carolina", "US", "en", "+1", "com"),
  place("Toronto", "Ontario", "CA", "en", "+1", "ca", "com"),
  place("London", "England", "GB", "en", "+44", "co.uk", "com"),
  place("Manchester", "England", "GB", "en", "+44", "co.uk"),
  place("München", "Bayern", "DE", "de", "+49", "de", "com"),
  place("Hamburg", "Hamburg", "DE", "de", "+49", "de"),
  place("Zürich", "Zürich", "CH", "de", "+41", "ch"),
  place("Paris", "Île-de-France", "FR", "fr", "+33", "fr", "com"),
  place("Lyon", "Auvergne-Rhône-Alpes", "FR", "fr", "+33", "fr"),
  place("Madrid", "Comunidad de Madrid", "ES", "es", "+34", "es", "com"),
  place("São Paulo", "São Paulo", "BR", "brazil", "+55", "com.br"),
  place("Kraków", "Małopolskie", "PL", "pl", "+48", "pl"),
  place("Göteborg", "Västra Götaland", "SE", "sv", "+46", "se"),
  place("Brno", "Jihomoravský kraj", "CZ", "cs", "+420", "cz"),
  place("İstanbul", "İstanbul", "TR", "tr", "+90", "com.tr"),
  place("Bengaluru", "Karnataka", "IN", "india", "+91", "in", "com"),
  place("東京", "東京都", "JP", "ja", "+81", "co.jp"),
];

export interface Firm {
  readonly index: number;
  /** Canonical company id. */
  readonly id: string;
  readonly name: string;
  readonly domain: string;
  readonly industry: Industry;
  readonly place: Place;
  readonly employees: number;
  /** Listed companies hold earnings calls and file reports. */
  readonly symbol?: string;
  readonly people: readonly PersonName[];
  /** Names of other companies of the same industry. */
  readonly rivals: readonly string[];
  readonly slots: Slots;
}

/** `Søndergård & Söhne AG` → `sondergardsohneag`. */
const slug = (name: string): string =>
  name
    .normalize("NFKD")
    .replace(/ı/g, "i")
    .replace(/ø/gi, "o")
    .replace(/ł/gi, "l")
    .replace(/ß/g, "ss")
    .toLowerCase()
    .replace(/[^a-z0-9]/g, "");

const LEGAL_FORMS: Readonly<Record<string, readonly string[]>> = {
  DE: [" AG", " GmbH", ""],
  CH: [" AG", ""],
  FR: [" SA", ""],
  ES: [" S.A.", ""],
  BR: [" S.A.", ""],
  SE: [" AB", ""],
  PL: [" S.A.", ""],
  TR: [" A.Ş.", ""],
};

const AND: Readonly<Record<string, string>> = { DE: "und", CH: "und", FR: "et", ES: "y" };

const nameOf = (random: Random, place: Place, industry: Industry, family: PersonName): string => {
  const suffix = random.pick(industry.suffixes);
  const stem = random.pick(NAME_STEMS);
  if (place.countryCode === "JP") return `株式会社${stem}${suffix}`;
  const founders = random.chance(0.25) ? `${family.last} ${AND[place.countryCode] ?? "&"} ` : "";
  return `${founders}${stem} ${suffix}${random.pick(LEGAL_FORMS[place.countryCode] ?? ["", "", " Inc."])}`;
};

const symbolOf = (random: Random, name: string, taken: Set<string>): string => {
  const letters = slug(name).toUpperCase().replace(/[0-9]/g, "") || "X";
  for (let tries = 0; ; tries++) {
    const symbol =
      tries < 3 ? letters.slice(0, 3 + tries) : letters.slice(0, 2) + random.id(2 + (tries >> 4)).toUpperCase();
    if (!taken.has(symbol)) {
      taken.add(symbol);
      return symbol;
    }
  }
};

/** Companies of an industry that others of it may have as rivals. */
const MOST_RIVALS = 12;

const firstOf = <T extends { readonly industry: Industry }>(all: readonly T[], industry: Industry, count: number) =>
  all.filter((one) => one.industry === industry).slice(0, count);

/** `count` companies with distinct names, domains and stock symbols. */
export const generateFirms = (seed: string, count: number): readonly Firm[] => {
  const domains = new Set<string>();
  const symbols = new Set<string>();
  const drafts = Array.from({ length: count }, (_, index) => {
    const random = createRandom(`${seed}/firm/${index}`);
    const industry = random.pick(INDUSTRIES);
    const place = random.pick(PLACES);
    const people = personNames(place.locale, hash(`${seed}/people/${index}`), 14);
    let name = "";
    let domain = "";
    const tld = random.pick(place.domains);
    for (let tries = 0; domain === "" || domains.has(domain); tries++) {
      const family = people[0] ?? { first: "", last: "" };
      name = nameOf(random, place, industry, family);
      if (tries > 2) name = name.replace(/^(株式会社)?/, `$1${random.pick(NAME_STEMS)} `);
      domain = `${slug(name.replace(/ (AG|GmbH|SA|S\.A\.|AB|A\.Ş\.|Inc\.)$/, ""))}.${tld}`;
    }
    domains.add(domain);
    const isPublic = random.chance(0.35);
    const scale = isPublic ? random.int(3, 5) : random.int(1, 4);
    return {
      index,
      id: random.id(22),
      name,
      domain,
      industry,
      place,
      people,
      employees: Math.round(10 ** (scale - random.next() * 0.9)) + 8,
      ...(isPublic ? { symbol: symbolOf(random, name, symbols) } : {}),
    };
  });
  const known = new Map(INDUSTRIES.map((industry) => [industry, firstOf(drafts, industry, MOST_RIVALS + 1)]));
  return drafts.map((draft): Firm => {
    const random = createRandom(`${seed}/rivals/${draft.index}`);
    const others = known.get(draft.industry)?.filter(({ index }) => index !== draft.index) ?? [];
    const found = random.sample(others.slice(0, MOST_RIVALS), 3).map(({ name }) => name);
    const rivals = found.length > 0 ? found : ["its largest competitor"];
    return { ...draft, rivals, slots: slotsOf(draft, rivals) };
  });
};

/** Values for the templates. */
const slotsOf = (firm: Omit<Firm, "rivals" | "slots">, rivals: readonly string[]): Slots => ({
  company: firm.name,
  product: firm.industry.products,
  customer: firm.industry.customers,
  technology: firm.industry.technologies,
  rival: rivals,
  city: [firm.place.city, firm.place.city, ...PLACES.slice(0, 12).map(({ city }) => city)],
  person: firm.people.slice(0, 3).map(({ first, last }) => `${first} ${last}`),
});

/** Slots for a company of which only name and industry are known; used while the sandbox evolves. */
export const slotsFor = (name: string, industryName: string | null): Slots => {
  const industry = INDUSTRIES.find((candidate) => candidate.name === industryName) ?? INDUSTRIES[0];
  return {
    company: name,
    product: industry?.products ?? [],
    customer: industry?.customers ?? [],
    technology: industry?.technologies ?? [],
    rival: ["a competitor"],
    city: PLACES.map(({ city }) => city),
    person: ["The chief executive"],
  };
};
