// Reads the field tables of the API document: what each resource has, typed how, required, opt-in. Pure.

interface DocumentedField {
  /** As the document writes it: string, number, boolean, object, string[]; null where it names no type. */
  readonly type: string | null;
  readonly required: boolean;
  readonly optIn: boolean;
}

/** Heading of the resource → field → what the document says about it. */
export type DocumentedResources = Readonly<Record<string, Readonly<Record<string, DocumentedField>>>>;

const TYPES = /^(string\[\]|string|number|boolean|object)/;

/** Rows of a `| Field | Type | Required |` table; `firstName, lastName` in one row are two fields. */
const ofTable = (section: string): Record<string, DocumentedField> => {
  const fields: Record<string, DocumentedField> = {};
  for (const line of section.split("\n")) {
    const [names, typeText, requiredText] = line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim());
    const type = TYPES.exec(typeText ?? "")?.[1];
    if (names === undefined || type === undefined || !/^(yes|no)$/.test(requiredText ?? "")) continue;
    for (const name of names.split(",").map((part) => part.trim())) {
      fields[name] = { type, required: requiredText === "yes", optIn: /opt-in/.test(typeText ?? "") };
    }
  }
  return fields;
};

/**
 * Fields in running text: "`id` string (required), `a?`, `b?` (strings), `c?` string (opt-in)". A field without a type
 * of its own has that of the next one that has; "(all strings)" and "(number)" type all before them.
 */
const ofSentence = (section: string): Record<string, DocumentedField> => {
  const fields: Record<string, DocumentedField> = {};
  let untyped: string[] = [];
  // A sentence about allowed values may follow, and uses the same marks.
  const [sentence = ""] = section.split(/\.\s+(?=[A-Z])/);
  for (const [, marked = "", rest = ""] of sentence.matchAll(/`(\w+\??)`([^`]*)/g)) {
    const name = marked.replace("?", "");
    fields[name] = { type: null, required: /\(required\)/.test(rest), optIn: /\(opt-in\)/.test(rest) };
    untyped.push(name);
    const group = /\((?:all )?(string|number|boolean|object)s?\)/.exec(rest)?.[1];
    const type = group ?? /^\s*(string\[\]|string|number|boolean|object)\b/.exec(rest)?.[1];
    if (type === undefined) continue;
    for (const each of untyped) fields[each] = { required: false, optIn: false, ...fields[each], type };
    untyped = [];
  }
  return fields;
};

/** `- Quota: ...` bullets are resources of their own. */
const ofBullets = (heading: string, text: string): [string, Record<string, DocumentedField>][] =>
  [...text.matchAll(/^- ([^:`]+): (.*)$/gm)].map(([, name = "", rest = ""]) => [
    `${heading}: ${name}`,
    ofSentence(rest),
  ]);

/** `| Section | Fields |` rows: what a nested document consists of. */
const ofSections = (text: string): Record<string, DocumentedField> =>
  Object.fromEntries(
    [...text.matchAll(/^\| (\w+)(?: \(always present\))? \| (?!Fields)/gm)].map(([, name = ""]) => [
      name,
      { type: "object", required: false, optIn: false },
    ]),
  );

/** Documented values of enumerations: `heading.field` → values. */
const enumerationsOf = (heading: string, text: string): [string, string[]][] =>
  [...text.matchAll(/`(\w+)` values: ((?:`?[\w-]+`?(?: \([a-z]+\))?(?:, )?)+)/g)].map(([, field = "", list = ""]) => [
    `${heading}.${field}`,
    list.split(", ").map((value) => value.replace(/`| \(.*\)/g, "")),
  ]);

/** Headings of which the sentence form is not a list of fields. */
const NO_RESOURCES = ["Envelope objects", "Feedback request"];

/** Every resource under "Resources and their fields", and the values of enumerations. */
export const readApiDocument = (
  markdown: string,
): { readonly resources: DocumentedResources; readonly enumerations: Readonly<Record<string, readonly string[]>> } => {
  const [, after = ""] = markdown.split(/^## Resources and their fields$/m);
  const [body = ""] = after.split(/^## /m);
  const sections = body
    .split(/^### /m)
    .slice(1)
    .map((section) => ({
      heading: section.split("\n")[0]?.trim() ?? "",
      text: section.split("\n").slice(1).join("\n"),
    }))
    .filter(({ heading }) => !NO_RESOURCES.includes(heading));
  const resources = sections.flatMap(({ heading, text }): [string, Record<string, DocumentedField>][] => {
    if (text.includes("| Field |")) return [[heading, ofTable(text)]];
    if (text.includes("| Section |")) return [[heading, ofSections(text)]];
    return /^- /m.test(text) ? ofBullets(heading, text) : [[heading, ofSentence(text.trim())]];
  });
  return {
    resources: Object.fromEntries(resources),
    enumerations: Object.fromEntries(sections.flatMap(({ heading, text }) => enumerationsOf(heading, text))),
  };
};
