// Fills sentence templates: `{company}` and the like are replaced, the rest stays. PURE.
import type { Random } from "../random.ts";

/** One value, or several of which one is picked at each use. */
export type Slots = Readonly<Record<string, string | readonly string[]>>;

interface Template {
  /** Literal, slot, literal, slot, ..., literal. */
  readonly parts: readonly string[];
}

const compiled = new Map<string, Template>();

const compile = (text: string): Template => {
  const known = compiled.get(text);
  if (known !== undefined) return known;
  const template = { parts: text.split(/[{}]/) };
  compiled.set(text, template);
  return template;
};

const slotValue = (name: string, slots: Slots, random: Random): string => {
  switch (name) {
    case "percent":
      return `${random.int(3, 48)}%`;
    case "small":
      return String(random.int(2, 12));
    case "count":
      return String(random.int(15, 900));
    case "millions":
      return `$${random.int(4, 890)} million`;
    default: {
      const value = slots[name];
      if (value === undefined) throw new TypeError(`the template needs a value for {${name}}`);
      return typeof value === "string" ? value : random.pick(value);
    }
  }
};

/** One sentence. Throws TypeError when a slot has no value. */
export const fill = (text: string, slots: Slots, random: Random): string => {
  const { parts } = compile(text);
  let out = "";
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index] ?? "";
    out += index % 2 === 0 ? part : slotValue(part, slots, random);
  }
  return out;
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
