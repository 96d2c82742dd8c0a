// Deliveries to lakes during which the program, its second process, or the catalog's server is killed at named moments. Shows P42.
import { copyFileSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, inject, test } from "vitest";
import { seededRandom } from "../support/chance.ts";
import { forFile } from "../support/for-file.ts";
import { startPostgres } from "../support/postgres.ts";
import { aFolder, type Catalog, catalogUrl, deliver, differences } from "./a-lake.ts";
import { aMoment, struckAt, untilKilled } from "./killed-delivery.ts";
import { move } from "./moving-mirror.ts";
import { catalogIn } from "./read-postgres.ts";

const KILLS = Number(process.env.KILLS ?? "4");
/** Each kind of catalog gets a third. */
const EACH = Math.ceil(KILLS / 3);

/** Statements of a delivery, of a cleaning, and of an erasure, in their order. */
const STEPS = [
  "^ATTACH 'ducklake",
  "^BEGIN",
  "^CREATE OR REPLACE TEMP TABLE moved",
  "^DELETE FROM",
  "^DROP TABLE",
  "^INSERT INTO",
  "_duckmirror. VALUES",
  "^COMMIT",
  "set_option",
  "^DETACH",
  "ducklake_expire_snapshots",
  "ducklake_merge_adjacent_files",
  "ducklake_rewrite_data_files",
  "ducklake_cleanup_old_files",
  "ducklake_delete_orphaned_files",
  "SET maintained_ms",
  "SET erasing",
];

/** The second process ends with the killed one, a moment later; until then it holds its locks. */
const whenFree = async <T>(work: () => Promise<T>): Promise<T> => {
  for (let tries = 0; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (tries === 200 || !/lock|starting up/i.test(String(error))) throw error;
      await sleep(20);
    }
  }
};

const postgres = await forFile(startPostgres());

test.each<Catalog | "postgres">(["sqlite", "duckdb", "postgres"])(
  "%s: killed at moments of a delivery, the lake equals the snapshot before or after, and catches up",
  async (catalog) => {
    const [dataDir, at, before] = [aFolder(), aFolder(), aFolder()];
    const url = catalog === "postgres" ? catalogIn(postgres.url) : catalogUrl(catalog);
    // Each delivery cleans, too.
    const settings = {
      maintain_every: "1s",
      keep_snapshots: "5s",
      ...(catalog === "postgres" ? { data_path: "files" } : {}),
    };
    const one = { name: "lake", kind: "ducklake", url, extension_directory: inject("extensions"), ...settings };
    const random = seededRandom(catalog.length);
    await move(dataDir, random);
    await deliver({ dataDir, at, url, settings });
    await untilKilled(catalog, EACH, async () => {
      copyFileSync(join(dataDir, "warehouse.duckdb"), join(before, "warehouse.duckdb"));
      await move(dataDir, random);
      const victims = ["program", "both", ...(catalog === "postgres" ? [postgres.pid()] : [])] as const;
      const moment = aMoment(STEPS, victims, random, join(at, catalog === "postgres" ? "files" : "lake"));
      const killed = await struckAt({ dataDir, at, destinations: JSON.stringify([one]), moment });
      if (killed === "") return killed;
      if (typeof moment.victim === "number") await postgres.restart();
      const left = await whenFree(() => differences(dataDir, at, url));
      if (Object.keys(left).length > 0 && Object.keys(await whenFree(() => differences(before, at, url))).length > 0)
        expect(left).toEqual({});
      await whenFree(() => deliver({ dataDir, at, url, settings }));
      expect(await differences(dataDir, at, url)).toEqual({});
      return killed;
    });
    // Rows that did not fit into memory lie in the data directory, which `forget` searches and later deliveries clean.
    expect(readdirSync(tmpdir()).filter((name) => /^duckmirror-lake-(?!test-)/.test(name))).toEqual([]);
  },
);
