// The rows of docs/SETTINGS.md, from the schema.
import { settingList } from "../../src/core/config/settings.ts";

/** Rows of a Markdown table, one per setting. */
export const settingRows = (): readonly string[] =>
  settingList().map(({ name, fallback, description }) => {
    const isTable = typeof fallback === "object" && fallback !== null && !Array.isArray(fallback);
    const value = Array.isArray(fallback) ? fallback.join(", ") : isTable ? "" : String(fallback ?? "");
    return `| \`${name}\` | ${value === "" ? "" : `\`${value}\``} | ${description.replaceAll("|", "\\|")} |`;
  });
