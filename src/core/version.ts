// The program's version, from the package's manifest beside the sources or the build.
import { readFileSync } from "node:fs";

export const packageVersion = (): string => {
  const manifest: unknown = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  return typeof manifest === "object" && manifest !== null && "version" in manifest ? String(manifest.version) : "?";
};
