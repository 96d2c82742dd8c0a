// The settings table of the README, from the schema: what the README must hold.
import { settingList } from "../../src/core/config/settings.ts";

/** Lines of a Markdown table, one per setting. */
export const settingsTable = (): readonly string[] => [
  "| setting | default | meaning |",
  "| --- | --- | --- |",
  ...settingList().map(({ name, fallback, description }) => {
    const isTable = typeof fallback === "object" && fallback !== null && !Array.isArray(fallback);
    const value = Array.isArray(fallback) ? fallback.join(", ") : isTable ? "" : String(fallback ?? "");
    return `| \`${name}\` | ${value === "" ? "" : `\`${value}\``} | ${description.replaceAll("|", "\\|")} |`;
  }),
];
