// duckmirror.yaml: text → settings with the line each stands in. What they mean is settings.ts' business.
import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { isMap, isScalar, LineCounter, parseDocument } from "yaml";
import { DuckmirrorError, detailOf } from "./errors.ts";

/** Looked for in the working directory when no --config names another. */
export const CONFIG_FILE_NAME = "duckmirror.yaml";

export interface ConfigFile {
  readonly path: string;
  /** Relative paths in the file start here. */
  readonly folder: string;
  /** Setting → value as text, list or map of texts; and the 1-based line it starts in. */
  readonly settings: ReadonlyMap<string, { readonly value: unknown; readonly line: number }>;
}

const invalid = (detail: string) => new DuckmirrorError("CONFIG_INVALID", { detail });

/** Parse the text of a configuration file. Throws CONFIG_INVALID naming file and line. */
export const parseConfigFile = (text: string, path: string): ConfigFile => {
  const lines = new LineCounter();
  // The failsafe schema keeps every scalar as text: company ids keep all their digits, `no` stays a word.
  const document = parseDocument(text, { schema: "failsafe", lineCounter: lines, prettyErrors: false });
  const broken = document.errors[0];
  if (broken) throw invalid(`${path}, line ${lines.linePos(broken.pos[0]).line}: ${broken.message}`);
  const root = document.contents;
  const settings = new Map<string, { value: unknown; line: number }>();
  if (root === null || (isScalar(root) && root.value === "")) return { path, folder: dirname(path), settings };
  if (!isMap(root)) throw invalid(`${path} must hold settings like \`base_url: https://...\``);
  const plainValues: Readonly<Record<string, unknown>> = document.toJS();
  for (const { key, value } of root.items) {
    if (!isScalar(key)) throw invalid(`${path}: a setting's name must be plain text`);
    const line = lines.linePos(key.range?.[0] ?? 0).line;
    const plain: unknown = value === null ? "" : plainValues[String(key.value)];
    // An empty value, or YAML's null, leaves the setting unset.
    if (plain === "" || (isScalar(value) && value.type === "PLAIN" && /^(~|null)$/i.test(String(plain)))) continue;
    settings.set(String(key.value), { value: plain, line });
  }
  return { path, folder: dirname(path), settings };
};

/**
 * Read the configuration file: the one that is named, else `duckmirror.yaml` in `cwd` if there is one.
 * Throws CONFIG_FILE_UNREADABLE (a named file that is missing, too) and CONFIG_INVALID.
 */
export const readConfigFile = (named: string | undefined, cwd: string): ConfigFile | null => {
  const path = named === undefined ? join(cwd, CONFIG_FILE_NAME) : resolve(cwd, named);
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    const missing = cause instanceof Error && "code" in cause && cause.code === "ENOENT";
    if (missing && named === undefined) return null;
    throw new DuckmirrorError("CONFIG_FILE_UNREADABLE", { file: path, detail: detailOf(cause) }, { cause });
  }
  return parseConfigFile(text, path);
};
