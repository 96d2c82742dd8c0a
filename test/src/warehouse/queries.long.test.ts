// sql/queries on a generated mirror, through the command that users run them with.
import { readdirSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { openWorld } from "../../../src/sandbox/sandbox.ts";
import { applyViews } from "../../../src/warehouse/file/views.ts";
import { cli } from "../../support/cli.ts";
import { tempDir } from "./temp-dir.ts";

const folder = new URL("../../../sql/queries/", import.meta.url);
const names = readdirSync(folder).sort();

/** Questions whose answer depends on events that a small generated world need not have. */
const MAY_BE_EMPTY = [
  "accounts-losing-champions.sql",
  "churned-but-moving.sql",
  "funded-and-hiring.sql",
  "funded-lately.sql",
  "rising-and-falling.sql",
];

test("there are twenty-one questions, and each file says question, answer and who asks it", () => {
  expect(names).toHaveLength(21);
  for (const name of names) {
    expect(readFileSync(new URL(name, folder), "utf8")).toMatch(
      /^-- Question: .*\?.*\n-- Answer: .*\n-- Readers: .*\n/,
    );
  }
});

test("each question is answered by `query --file` on a generated mirror", async () => {
  const dir = tempDir();
  const now = Date.now();
  const world = await openWorld({ seed: 3, accounts: 15, now, bigIds: false, threads: 1, dir });
  await applyViews(world.database, now);
  // What a generated world lacks because nothing ever changed in it: a score that moved,
  // an account nobody knows a contact of, a ledger, readings of the quota.
  await world.database.run(`
    DELETE FROM main.contacts WHERE account_id = (SELECT min(id) FROM main.accounts);
    INSERT INTO history.accounts BY NAME SELECT id, name, 12.5 AS main_score, now() - INTERVAL 40 DAY AS valid_from, _synced_at AS valid_to, 'update' AS change FROM main.accounts WHERE main_score IS NOT NULL LIMIT 3;
    INSERT INTO sync.requests VALUES ('q', 'r', 'signals', '', 'listSignals', '/v1/signals', 200, 'spent', 1, now(), 20, 100, 20, 1, NULL, NULL, NULL, 'look');
    INSERT INTO main.usage_snapshots (captured_at, "limit", used, remaining, resets_at) VALUES (now(), 100, 10, 90, now() + INTERVAL 10 DAY);`);
  await world.close();
  renameSync(join(dir, "sandbox.duckdb"), join(dir, "warehouse.duckdb"));
  for (const name of names) {
    const { code, out, err } = await cli([
      "query",
      "--file",
      fileURLToPath(new URL(name, folder)),
      "--json",
      "--data-dir",
      dir,
    ]);
    expect({ name, code, err }).toEqual({ name, code: 0, err: "" });
    const rows: unknown = JSON.parse(out);
    if (!MAY_BE_EMPTY.includes(name)) expect(rows, name).toEqual(expect.arrayContaining([expect.anything()]));
  }
});
