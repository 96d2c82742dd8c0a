// The package of this checkout as `npm pack` writes it, made once per test file from the files that git knows.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { tempFolder } from "../acceptance/temp-folder.ts";
import { programOnPath } from "../support/program-on-path.ts";
import { runWell } from "./programs.ts";

const root = join(import.meta.dirname, "../..");

export const npm = (): string => {
  const found = programOnPath("npm");
  if (found === null) throw new Error("npm is not on the PATH");
  return found;
};

const QUIET = ["--no-audit", "--no-fund", "--ignore-scripts"];

/** A copy of the checkout with packages of its own. */
export const freshCheckout = async (): Promise<string> => {
  const checkout = join(tempFolder(), "checkout");
  const files = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], { cwd: root });
  for (const file of String(files).split("\0")) {
    if (file !== "" && file !== "node_modules" && existsSync(join(root, file))) {
      cpSync(join(root, file), join(checkout, file));
    }
  }
  // Its own packages: of linked ones npm packs paths that lead out of the package.
  await runWell(npm(), ["ci", "--prefer-offline", ...QUIET], { cwd: checkout });
  return checkout;
};

/** Path of the tarball. */
export const packedTarball = async (): Promise<string> => {
  const checkout = await freshCheckout();
  // With scripts: `prepack` builds what is packed.
  await runWell(npm(), ["pack", "--pack-destination", dirname(checkout)], { cwd: checkout });
  const name = readdirSync(dirname(checkout)).find((file) => file.endsWith(".tgz"));
  if (name === undefined) throw new Error("npm pack wrote no file");
  return join(dirname(checkout), name);
};
