// The configuration that a file's text and an environment give.
import { vocabulary } from "../../src/catalog/field-rules.ts";
import { type Config, resolveConfig } from "../../src/core/config/config.ts";
import { parseConfigFile } from "../../src/core/config/config-file.ts";

/** `text`: of the file; null: there is none. */
export const configOf = (
  text: string | null,
  env: Record<string, string> = {},
  profile?: string,
  cwd = "/srv",
): Config =>
  resolveConfig({
    flags: {},
    env,
    file: text === null ? null : parseConfigFile(text, "/etc/duckmirror/duckmirror.yaml"),
    cwd,
    vocabulary: vocabulary(),
    profile,
  });
