// Reads duckmirror.yaml: text → settings with their line numbers. settings.ts interprets them.
import { dirname, join, resolve } from "node:path";
import { isMap, isScalar, LineCounter, parseDocument, type YAMLMap } from "yaml";
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

/** Parse the text of a configuration file. Throws CONFIG_INVALID naming file and line. */
export const parseConfigFile = (text: string, path: string): ConfigFile => {
  const lines = new LineCounter();
  // The failsafe schema keeps every scalar as text: company ids keep all digits, and `no` stays a word.
  const document = parseDocument(text, { schema: "failsafe", lineCounter: lines, prettyErrors: false });
  const broken = document.errors[0];
  if (broken) throw invalid(`${path}, line ${lines.linePos(broken.pos[0]).line}: ${broken.message}`);
  const root = document.contents;
  const folder = dirname(path);
  if (root === null || (isScalar(root) && root.value === "")) {
    return { path, folder, settings: new Map(), profiles: new Map() };
  }
  if (!isMap(root)) throw invalid(`${path} must hold settings like \`base_url: https://...\``);
  const values: unknown = document.toJS();
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
    text = readGiven(path, MOST_BYTES);
  } catch (cause) {
    const missing = hasSystemCode(cause, "ENOENT");
    if (missing && named === undefined) return null;
    throw new DuckmirrorError("CONFIG_FILE_UNREADABLE", { file: path, detail: detailOf(cause) }, { cause });
  }
  return parseConfigFile(text, path);
};
