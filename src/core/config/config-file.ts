// Reads duckmirror.yaml: text → settings with their line numbers. settings.ts interprets them.
import { dirname, join, resolve } from "node:path";
import { type Document, isMap, isScalar, LineCounter, parseDocument, visit, type YAMLMap } from "yaml";
import { DuckmirrorError, detailOf, hasSystemCode } from "../errors.ts";
import { readGiven } from "../files/given-files.ts";

/** Default file in the working directory, without --config. */
export const CONFIG_FILE_NAME = "duckmirror.yaml";

const MOST_BYTES = 4 * 1024 * 1024;

/** Setting → value as text, list or map of texts, and its first line (1-based). */
export type FileSettings = ReadonlyMap<string, { readonly value: unknown; readonly line: number }>;

export interface ConfigFile {
  readonly path: string;
  /** Folder of the file; relative paths in the file start here. */
  readonly folder: string;
  readonly settings: FileSettings;
  /** Profile → its own settings. */
  readonly profiles: ReadonlyMap<string, FileSettings>;
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const invalid = (detail: string) => new DuckmirrorError("CONFIG_INVALID", { detail });

/** Key of the profiles' settings. */
const PROFILES = "profiles";

const settingsOf = (map: YAMLMap, values: unknown, lines: LineCounter, path: string): FileSettings => {
  const settings = new Map<string, { value: unknown; line: number }>();
  const plainValues: Readonly<Record<string, unknown>> = isRecord(values) ? values : {};
  for (const { key, value } of map.items) {
    if (!isScalar(key)) throw invalid(`${path}: a setting's name must be plain text`);
    const line = lines.linePos(key.range?.[0] ?? 0).line;
    const plain: unknown = value === null ? "" : plainValues[String(key.value)];
    // An empty value, or YAML's null, leaves the setting unset.
    if (plain === "" || (isScalar(value) && value.type === "PLAIN" && /^(~|null)$/i.test(String(plain)))) continue;
    settings.set(String(key.value), { value: plain, line });
  }
  return settings;
};

const profilesOf = (node: unknown, values: unknown, lines: LineCounter, path: string) => {
  const profiles = new Map<string, FileSettings>();
  if (!isMap(node)) throw invalid(`${path}: ${PROFILES} must map names to settings`);
  const plain = isRecord(values) ? values : {};
  for (const { key, value } of node.items) {
    if (!isScalar(key)) throw invalid(`${path}: a profile's name must be plain text`);
    const name = String(key.value);
    if (isMap(value)) profiles.set(name, settingsOf(value, plain[name], lines, path));
    else if (value === null || (isScalar(value) && value.value === "")) profiles.set(name, new Map());
    else throw invalid(`${path}: profile ${name} must hold settings`);
  }
  return profiles;
};

/** A name that one map has twice; null: there is none. */
const repeatedName = (document: Document): { readonly at: number; readonly message: string } | null => {
  let found: { readonly at: number; readonly message: string } | null = null;
  visit(document, {
    Map: (_, { items }) => {
      const names = new Set<string>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        const name = String(key.value);
        if (names.has(name)) found ??= { at: key.range?.[0] ?? 0, message: "Map keys must be unique" };
        names.add(name);
      }
      return found === null ? undefined : visit.BREAK;
    },
  });
  return found;
};

/** Most characters that aliases may repeat, and most aliases in each other: a few nested ones can mean millions of values. */
const MOST_REPEATED = 8 * 1024 * 1024;
const MOST_ALIASES = 100;

/** Throws CONFIG_INVALID where aliases repeat too much. */
const plainValues = (document: Document, path: string): unknown => {
  let repeated = 0;
  visit(document, {
    Alias: (_, alias) => {
      const [start = 0, end = 0] = alias.resolve(document)?.range ?? [];
      repeated += end - start;
    },
  });
  if (repeated > MOST_REPEATED) throw invalid(`${path}: its aliases repeat ${repeated} characters`);
  try {
    return document.toJS({ maxAliasCount: MOST_ALIASES });
  } catch (cause) {
    throw new DuckmirrorError("CONFIG_INVALID", { detail: `${path}: ${detailOf(cause)}` }, { cause });
  }
};

/** What keeps a document from being read, and where; null: nothing. */
const problemIn = (document: Document.Parsed) => {
  const [broken] = document.errors;
  if (broken === undefined) return repeatedName(document);
  const several = "it holds several documents; remove the lines `---` between them";
  return { at: broken.pos[0], message: broken.code === "MULTIPLE_DOCS" ? several : broken.message };
};

/** Parse the text of a configuration file. Throws CONFIG_INVALID naming file and line. */
export const parseConfigFile = (text: string, path: string): ConfigFile => {
  const lines = new LineCounter();
  // The failsafe schema keeps every scalar as text: company ids keep all digits, and `no` stays a word.
  // yaml compares each name of a map with all others, which takes minutes for a file of many.
  const options = { schema: "failsafe", lineCounter: lines, prettyErrors: false, uniqueKeys: false } as const;
  const document = parseDocument(text, options);
  const problem = problemIn(document);
  if (problem !== null) throw invalid(`${path}, line ${lines.linePos(problem.at).line}: ${problem.message}`);
  const root = document.contents;
  const folder = dirname(path);
  if (root === null || (isScalar(root) && root.value === "")) {
    return { path, folder, settings: new Map(), profiles: new Map() };
  }
  if (!isMap(root)) throw invalid(`${path} must hold settings like \`base_url: https://...\``);
  const values = plainValues(document, path);
  const settings = new Map(settingsOf(root, values, lines, path));
  const given = settings.get(PROFILES);
  settings.delete(PROFILES);
  return {
    path,
    folder,
    settings,
    profiles: given === undefined ? new Map() : profilesOf(root.get(PROFILES), given.value, lines, path),
  };
};

/**
 * Reads the configuration file: the given one, else `duckmirror.yaml` in `cwd` if it exists.
 * Throws CONFIG_FILE_UNREADABLE (also when a given file is missing) and CONFIG_INVALID.
 */
export const readConfigFile = (named: string | undefined, cwd: string): ConfigFile | null => {
  const path = named === undefined ? join(cwd, CONFIG_FILE_NAME) : resolve(cwd, named);
  let text: string;
  try {
    text = readGiven(path, MOST_BYTES, named !== undefined);
  } catch (cause) {
    const missing = hasSystemCode(cause, "ENOENT");
    if (missing && named === undefined) return null;
    throw new DuckmirrorError("CONFIG_FILE_UNREADABLE", { file: path, detail: detailOf(cause) }, { cause });
  }
  return parseConfigFile(text, path);
};
