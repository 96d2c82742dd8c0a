// The commented duckmirror.yaml that `init` writes: every setting, generated from the schema so that none is missing.
import { stringify } from "yaml";
import { envName, type FlagValues } from "../core/config/config.ts";
import { settingList } from "../core/config/settings.ts";

const HEAD = `# duckmirror configuration. Flags and environment variables go over this file, defaults under it.
# A setting behind a # has its default, or an example where it has none.
# Relative paths start at this file. Durations: 90s, 12h, 7d. Sizes: 64MiB.
`;

const yamlOf = (name: string, value: unknown): string =>
  stringify({ [name]: value }, { flowCollectionPadding: false, lineWidth: 0, collectionStyle: "flow" });

/** YAML of a setting as a block of lines, commented out or not. */
const block = (name: string, value: unknown, active: boolean): string => {
  // Only the values are written in flow style: `companies: [a, b]`.
  const line = yamlOf(name, value).trim().replace(/^\{/, "").replace(/\}$/, "");
  return active ? line : `# ${line}`;
};

/** The file's text; `given` are the settings to write as active ones. The token itself never stands in it. */
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
