// Generates the contacts of a sandbox's account, with their career changes (API.md, "Contact").
import { type PersonName, personNames } from "../content/person-names.ts";
import { fill } from "../content/speech.ts";
import { CONTACT_ROLES, DEPARTMENTS, EXECUTIVE_TITLES, nextTitle } from "../content/words.ts";
import { hash, type Random } from "../random.ts";
import type { Firm } from "./firms.ts";
import { DAY_MS, day, iso, type Row } from "./load-rows.ts";

const ascii = (text: string): string =>
  text
    .normalize("NFKD")
    .replace(/[^\p{Letter}]/gu, "")
    .replace(/[^a-zA-Z]/g, "")
    .toLowerCase();

interface Career {
  readonly title: string;
  readonly change: Row;
}

/** Recent career change of the contact; none for about half of them. */
const career = (random: Random, title: string, firm: Firm, now: number): Career => {
  const since = now - random.int(120, 2500) * DAY_MS;
  if (random.chance(0.52)) return { title, change: { inCurrentRoleSince: random.maybe(0.85, day(since)) } };
  const detected = now - random.int(0, 360) * DAY_MS - random.int(0, 86_399_999);
  const started = {
    inCurrentRoleSince: day(detected - random.int(1, 45) * DAY_MS),
    lastChangeDetectedOn: iso(detected),
  };
  const elsewhere = random.pick(firm.rivals);
  switch (random.pick(["promotion", "newJoiner", "departure", "internalChange", "newInRole"] as const)) {
    case "promotion":
      return {
        title: nextTitle(title) ?? title,
        change: { changeType: "promotion", ...started, previousTitle: title, previousCompanyName: firm.name },
      };
    case "newJoiner":
      return {
        title,
        change: { changeType: "newJoiner", ...started, previousTitle: title, previousCompanyName: elsewhere },
      };
    case "departure":
      return {
        title,
        change: {
          changeType: "departure",
          ...started,
          currentCompanyName: elsewhere,
          previousTitle: title,
          previousCompanyName: firm.name,
        },
      };
    case "internalChange": {
      const other = random.pick(random.pick(DEPARTMENTS).titles);
      return {
        title: other,
        change: { changeType: "internalChange", ...started, previousTitle: title, previousCompanyName: firm.name },
      };
    }
    case "newInRole":
      return { title, change: { changeType: "newInRole", ...started } };
  }
};

/** One contact. `index` distinguishes contacts of one account. */
export const contactRow = (
  random: Random,
  firm: Firm,
  accountId: string,
  organizationId: string,
  person: PersonName,
  index: number,
  now: number,
): Row => {
  const executive = EXECUTIVE_TITLES[index];
  const department = random.pick(DEPARTMENTS);
  const { title, change } = career(random, executive ?? random.pick(department.titles), firm, now);
  const { technology, product } = firm.slots;
  const handle = `${ascii(person.first) || "p"}.${ascii(person.last) || random.id(5).toLowerCase()}`;
  const verified = random.chance(0.75);
  const hasEmail = random.chance(0.7);
  return {
    id: random.id(20),
    organizationId,
    accountId,
    firstName: random.maybe(0.99, person.first),
    lastName: random.maybe(0.99, person.last),
    currentTitle: random.maybe(0.96, title),
    currentCompanyName: random.maybe(0.95, firm.name),
    mainScore: random.maybe(0.9, Math.round(random.next() * 1000) / 10),
    professionalNetworkUrl: random.maybe(
      0.88,
      `https://network.example/in/${handle.replace(".", "-")}-${random.id(5)}`,
    ),
    email: hasEmail ? `${handle}@${firm.domain}` : undefined,
    emailStatus: hasEmail ? (verified ? "verified" : "guessed") : undefined,
    phone: random.maybe(0.35, `${firm.place.dial} ${random.int(20, 99)} ${random.int(1_000_000, 9_999_999)}`),
    location: random.maybe(0.8, `${firm.place.city}, ${firm.place.countryCode}`),
    profilePictureUrl: random.maybe(0.6, `https://images.example/people/${random.id(12)}.jpg`),
    type: random.maybe(0.9, random.pick(["prospect", "prospect", "prospect", "champion", "contact"])),
    contactRole: random.maybe(0.4, random.pick(CONTACT_ROLES)),
    personInsights: random.maybe(0.5, {
      focus: fill("Responsible for {product}.", firm.slots, random),
      department: executive === undefined ? department.name : "Executive board",
      influence: random.int(1, 10),
    }),
    talkingPoints: random.maybe(0.45, {
      opening: fill("Ask how {company} sees {technology}.", firm.slots, random),
      avoid: fill("Comparisons with {rival}.", firm.slots, random),
    }),
    positionWhenFormerUser: random.maybe(0.06, { company: random.pick(firm.rivals), title: "User" }),
    introPaths: random.maybe(0.2, [fill("{person} knows them from an earlier project", firm.slots, random)]),
    matchingTargetKeywords: random.maybe(0.4, Array.isArray(product) ? random.sample(product, 2) : undefined),
    matchingTargetJobTitles: random.maybe(0.4, [title]),
    matchingTargetLocations: random.maybe(0.3, [firm.place.city]),
    matchingTargetTechnologies: random.maybe(
      0.35,
      Array.isArray(technology) ? random.sample(technology, 2) : undefined,
    ),
    ...change,
  };
};

/** 6 to 12 contacts of an account; the first ones are the company's executives. */
export const contactRows = (
  seed: string,
  random: Random,
  firm: Firm,
  account: { readonly id: string; readonly organizationId: string },
  now: number,
): readonly Row[] => {
  const count = random.int(6, 12);
  const others = personNames(firm.place.locale, hash(`${seed}/contacts/${firm.index}`), count);
  return others.map((name, index) =>
    contactRow(random, firm, account.id, account.organizationId, firm.people[index] ?? name, index, now),
  );
};
