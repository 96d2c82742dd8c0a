// An export as a command asks for it: what the data directory knows of it.

import { join } from "node:path";
import { expect, test } from "vitest";
import { exportJob } from "../../jobs/export.ts";
import { exportFolders } from "../../src/warehouse/export/manifest.ts";
import { tempDir } from "../src/warehouse/temp-dir.ts";
import { change } from "../support/change-mirror.ts";
import { configOf } from "../support/given-config.ts";

const REQUEST = { format: "parquet", tables: ["contacts"], since: null, guardFormulas: false } as const;

test("a folder is remembered before a row is in it, because a kill can leave rows there", async () => {
  const dataDir = tempDir();
  await change(dataDir, ({ database }) => database.run("INSERT INTO main.contacts (id) VALUES ('somebody')"));
  const config = configOf(null, { DUCKMIRROR_DATA_DIR: dataDir });
  const dir = join(tempDir(), "lake");
  const killed = exportJob(config, { ...REQUEST, dir }, { signal: AbortSignal.abort(new Error("killed")) });
  await expect(killed).rejects.toThrow("killed");
  expect((await exportFolders(dataDir)).slice(3)).toEqual([dir]);
});
