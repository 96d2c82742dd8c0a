// The sections of the documentation site, in the order of its sidebar, and which pages each has. A page of none is a how-to.

interface Section {
  readonly title: string;
  readonly isOpen: boolean;
  readonly places: (place: string) => boolean;
}

const oneOf =
  (...names: readonly string[]) =>
  (place: string): boolean =>
    names.includes(place);

const REFERENCE = ["COMMANDS", "SETTINGS", "ERRORS", "DATA", "METRICS", "PARAMETERS", "GLOSSARY", "AUDIT", "CHANGELOG"];
const WHY = ["HOW-IT-WORKS", "PLANNING", "RELIABILITY", "SECURITY", "PERFORMANCE", "SCALE", "BENCHMARKS", "PEERS"];

export const SECTIONS: readonly Section[] = [
  { title: "Start", isOpen: true, places: oneOf("index", "TUTORIAL") },
  { title: "How to", isOpen: true, places: () => false },
  { title: "Reference", isOpen: true, places: oneOf(...REFERENCE) },
  { title: "Commands", isOpen: false, places: (place) => place.startsWith("commands/") },
  { title: "How it works, and why", isOpen: true, places: oneOf(...WHY) },
  {
    title: "The code",
    isOpen: false,
    places: oneOf("CONTRIBUTING", "ARCHITECTURE", "INVARIANTS", "SPEC", "decisions/index"),
  },
  {
    title: "Decisions",
    isOpen: false,
    places: (place) => place.startsWith("decisions/") && place !== "decisions/index",
  },
];

export const sectionOf = (place: string): string => SECTIONS.find(({ places }) => places(place))?.title ?? "How to";
