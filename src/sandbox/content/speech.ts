// Long texts: transcripts of several thousand words, articles, job descriptions, filings. Each is a pure function of
// a seed: rows hold a function until they are loaded, so thousands of transcripts are never in memory at once.
import { createRandom } from "../random.ts";
import { fill, paragraphs, type Slots, sentences } from "./prose.ts";
import { SENTENCES } from "./words.ts";

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
