// The program's own version, from the manifest that lies beside it in the sources as in the build.
import { readFileSync } from "node:fs";

export const packageVersion = (): string => {
  const manifest: unknown = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  return typeof manifest === "object" && manifest !== null && "version" in manifest ? String(manifest.version) : "?";
};
