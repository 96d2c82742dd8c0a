// Generates texts for a sandbox from sentence templates: transcripts of several thousand words, articles, job descriptions, filings. Each
// is a pure function of a seed, and is made only when it is loaded, so that thousands of transcripts are never in memory at once.
import { createRandom, type Random } from "../random.ts";
import { SENTENCES } from "./words.ts";

// Fills sentence templates: `{company}` and the like are replaced, the rest stays. PURE.

/** One value, or several of which one is picked at each use. */
export type Slots = Readonly<Record<string, string | readonly string[]>>;

type Filler = (slots: Slots, random: Random) => string;

interface Template {
  readonly start: string;
  /** Value of a slot, and the text after it. */
  readonly rest: readonly (readonly [Filler, string])[];
}

const GENERAL: ReadonlyMap<string, Filler> = new Map<string, Filler>([
  ["percent", (_, random) => `${random.int(3, 48)}%`],
  ["small", (_, random) => String(random.int(2, 12))],
  ["count", (_, random) => String(random.int(15, 900))],
  ["millions", (_, random) => `$${random.int(4, 890)} million`],
]);

const slot =
  (name: string): Filler =>
  (slots, random) => {
    const value = slots[name];
    if (value === undefined) throw new TypeError(`the template needs a value for {${name}}`);
    return typeof value === "string" ? value : random.pick(value);
  };

const compiled = new Map<string, Template>();

const compile = (text: string): Template => {
  const known = compiled.get(text);
  if (known !== undefined) return known;
  // Literal, slot, literal, slot, ..., literal.
  const [start = "", ...parts] = text.split(/[{}]/);
  const rest: (readonly [Filler, string])[] = [];
  for (let at = 0; at < parts.length; at += 2) {
    const name = parts[at] ?? "";
    rest.push([GENERAL.get(name) ?? slot(name), parts[at + 1] ?? ""]);
  }
  const template = { start, rest };
  compiled.set(text, template);
  return template;
};

/**
 * The text in one piece. A text that grew by `+` is a tree of its parts until a character is read, and the garbage
 * collector moves every part of the thousands that wait to be written.
 */
const inOnePiece = (text: string): string => (text.charCodeAt(0) === 0 ? "" : text);

/** One sentence. Throws TypeError when a slot has no value. */
export const fill = (text: string, slots: Slots, random: Random): string => {
  const { start, rest } = compile(text);
  let out = start;
  for (const [filler, after] of rest) out += filler(slots, random) + after;
  return inOnePiece(out);
};

/** `count` sentences that differ in their template as far as there are enough of them. */
export const sentences = (bank: readonly string[], count: number, slots: Slots, random: Random): string[] => {
  const out: string[] = [];
  while (out.length < count) {
    for (const template of random.sample(bank, Math.min(bank.length, count - out.length))) {
      out.push(fill(template, slots, random));
    }
  }
  return out;
};

/** Paragraphs of 3 to 6 sentences, about `words` words in all. */
export const paragraphs = (bank: readonly string[], words: number, slots: Slots, random: Random): string[] => {
  const out: string[] = [];
  let written = 0;
  while (written < words) {
    const paragraph = sentences(bank, random.int(3, 6), slots, random).join(" ");
    out.push(paragraph);
    written += paragraph.length / 6;
  }
  return out;
};

const { remarks, questions, answers, reports, duties, disclosures } = SENTENCES;

/** Earnings call of 2,500 to 5,000 words: opening, remarks of two executives, questions and answers. */
export const transcript = (seed: string, slots: Slots, speakers: readonly string[], title: string): string => {
  const random = createRandom(seed);
  const [chief = "Chief Executive", finance = "Chief Financial Officer"] = speakers;
  const parts = [
    `Operator: Good day, and welcome to the ${title}. All lines are muted. After the remarks there will be questions.`,
    `${chief}: ${paragraphs(remarks, random.int(900, 1700), slots, random).join("\n\n")}`,
    `${finance}: ${paragraphs(remarks, random.int(700, 1300), slots, random).join("\n\n")}`,
    "Operator: We now come to the questions.",
  ];
  for (let question = random.int(7, 11); question > 0; question--) {
    parts.push(`Analyst ${question}: ${sentences(questions, random.int(1, 2), slots, random).join(" ")}`);
    parts.push(`${random.pick([chief, finance])}: ${sentences(answers, random.int(4, 8), slots, random).join(" ")}`);
  }
  parts.push("Operator: This concludes today's call. You may now disconnect.");
  return parts.join("\n\n");
};

const report = (seed: string, slots: Slots, lead: string, least: number, most: number): string => {
  const random = createRandom(seed);
  return [lead, ...paragraphs(reports, random.int(least, most), slots, random)].join("\n\n");
};

/** Article of 200 to 500 words. */
export const article = (seed: string, slots: Slots, lead: string): string => report(seed, slots, lead, 200, 500);

/** Full content of a signal, 80 to 240 words. */
export const signalText = (seed: string, slots: Slots, lead: string): string => report(seed, slots, lead, 80, 240);

/** Job description of 150 to 300 words. */
export const jobDescription = (seed: string, slots: Slots, title: string): string => {
  const random = createRandom(seed);
  const intro = fill("{company} is looking for a", slots, random);
  return [`${intro} ${title}.`, ...paragraphs(duties, random.int(150, 300), slots, random)].join("\n\n");
};

/** Filing of 800 to 1,800 words. */
export const filingText = (seed: string, slots: Slots, title: string): string => {
  const random = createRandom(seed);
  return [title, ...paragraphs(disclosures, random.int(800, 1800), slots, random)].join("\n\n");
};
