// DuckDB for Python with one of its extensions, of PyPI.
import { cpSync } from "node:fs";
import { join } from "node:path";
import { inject } from "vitest";
import { tempFolder } from "../acceptance/temp-folder.ts";
import { runWell } from "./programs.ts";
import { kept, PIP_QUIET } from "./python-venv.ts";

/** The newest DuckDB for which PyPI has extensions. */
const EXTENDED = "1.5.5";

/** DuckDB for Python with an extension where `INSTALL` puts it: the client's environment, and the folder of the extension's file. */
export const extendedClient = async (extension: "httpfs" | "ducklake") => {
  const venv = inject("venv");
  const packages = [`duckdb==${EXTENDED}`, `duckdb-extension-${extension}==${EXTENDED}`];
  const folder = await kept(`${extension}-${EXTENDED}`, `${venv} ${packages.join(" ")}`, (target) =>
    runWell(join(venv, "bin/pip"), ["install", ...PIP_QUIET, "--no-deps", "--target", target, ...packages]),
  );
  const home = tempFolder();
  const platform = await runWell(
    join(venv, "bin/python"),
    ["-c", "import duckdb; print(duckdb.sql('PRAGMA platform').fetchone()[0], end='')"],
    { env: { PYTHONPATH: folder } },
  );
  const files = join(folder, `duckdb_extension_${extension}/extensions/v${EXTENDED}`);
  cpSync(files, join(home, ".duckdb/extensions", `v${EXTENDED}`, platform), { recursive: true });
  return { env: { PYTHONPATH: folder, HOME: home }, files };
};
