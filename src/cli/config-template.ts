// The commented duckmirror.yaml of `init`: every setting, generated from the schema so that none is missing.
import { stringify } from "yaml";
import type { FlagValues } from "../core/config/config.ts";
import { envName } from "../core/config/setting-names.ts";
import { settingList } from "../core/config/settings.ts";

const HEAD = `# duckmirror configuration. Flags and environment variables override it; it overrides the defaults.
# A line that begins with "# name:" shows the default of a setting, or an example if it has no default.
# Relative paths start at this file. Durations: 90s, 12h, 7d. Sizes: 64MiB.
`;

const yamlOf = (name: string, value: unknown): string =>
  stringify({ [name]: value }, { flowCollectionPadding: false, lineWidth: 0, collectionStyle: "flow" });

/** A setting as YAML, commented out or not. */
const block = (name: string, value: unknown, active: boolean): string => {
  // Only values use flow style: `companies: [a, b]`.
  const line = yamlOf(name, value).trim().replace(/^\{/, "").replace(/\}$/, "");
  return active ? line : `# ${line}`;
};

/** Text of the file; `given`: settings to write as active. It never contains the token itself. */
export const configTemplate = (given: FlagValues): string => {
  const active: Readonly<Record<string, unknown>> = given;
  const blocks = settingList()
    .filter((setting) => setting.name !== "token")
    .map(({ name, description, fallback, example }) => {
      const shown = active[name] ?? (fallback === null || isEmpty(fallback) ? (example ?? fallback) : fallback);
      return `# ${description} (${envName(name)})\n${block(name, shown, active[name] !== undefined)}\n`;
    });
  return [HEAD, ...blocks].join("\n");
};

const isEmpty = (value: unknown) => typeof value === "object" && value !== null && Object.keys(value).length === 0;
