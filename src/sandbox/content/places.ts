// Headquarters of the generated companies, and names of the people who live there.
import type { Faker } from "@faker-js/faker";
import { faker as cs } from "@faker-js/faker/locale/cs_CZ";
import { faker as de } from "@faker-js/faker/locale/de";
import { faker as en } from "@faker-js/faker/locale/en";
import { faker as india } from "@faker-js/faker/locale/en_IN";
import { faker as es } from "@faker-js/faker/locale/es";
import { faker as fr } from "@faker-js/faker/locale/fr";
import { faker as ja } from "@faker-js/faker/locale/ja";
import { faker as pl } from "@faker-js/faker/locale/pl";
import { faker as brazil } from "@faker-js/faker/locale/pt_BR";
import { faker as sv } from "@faker-js/faker/locale/sv";
import { faker as tr } from "@faker-js/faker/locale/tr";

export type NameLocale = "cs" | "de" | "en" | "india" | "es" | "fr" | "ja" | "pl" | "brazil" | "sv" | "tr";

const FAKERS: Readonly<Record<NameLocale, Faker>> = { cs, de, en, india, es, fr, ja, pl, brazil, sv, tr };

export interface Place {
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

export interface PersonName {
  readonly first: string;
  readonly last: string;
}

/**
 * Names of people of one locale. The generators are shared by the process: each call seeds its own and reads at once,
 * so that two sandboxes at a time do not disturb each other.
 */
export const personNames = (locale: NameLocale, seed: number, count: number): readonly PersonName[] => {
  const faker = FAKERS[locale];
  faker.seed(seed);
  return Array.from({ length: count }, () => ({ first: faker.person.firstName(), last: faker.person.lastName() }));
};
