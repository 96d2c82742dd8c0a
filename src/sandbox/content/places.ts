// Headquarters of the generated companies.
import type { NameLocale } from "./person-names.ts";

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
