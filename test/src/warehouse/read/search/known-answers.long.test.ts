// Fifty questions with known answers in the generated world: how many are found, and how far up. What texts with accents cost.
import { expect, test } from "vitest";
import { z } from "zod";
import { startSandbox } from "../../../../../src/sandbox/sandbox.ts";
import { search } from "../../../../../src/warehouse/read/search/search.ts";
import { forFile } from "../../../../support/for-file.ts";

const sandbox = await forFile(startSandbox({ seed: 50, accounts: 12, threads: 1 }));

/** What a person remembers of a record, and the records that are a right answer: those that say the same. */
const KINDS = [
  { table: "accounts", asks: 10, words: "name", key: "CAST(id AS VARCHAR)", same: "name" },
  { table: "contacts", asks: 10, words: "first_name || ' ' || last_name", key: "id", same: "first_name || last_name" },
  { table: "signals", asks: 10, words: "headline", key: "CAST(id AS VARCHAR)", same: "headline" },
  { table: "news_articles", asks: 8, words: "headline", key: "CAST(id AS VARCHAR)", same: "headline" },
  {
    table: "job_openings",
    asks: 7,
    words: "title || ' ' || (SELECT name FROM main.companies AS c WHERE c.id = company_id)",
    key: "CAST(id AS VARCHAR)",
    same: "title || company_id",
  },
  {
    table: "earnings_calls",
    asks: 5,
    words:
      "left(array_to_string(regexp_split_to_array(regexp_replace(CAST(full_transcript AS VARCHAR), '[^A-Za-z ]', ' ', 'g'), ' +')[40:48], ' '), 200)",
    key: "CAST(id AS VARCHAR)",
    same: "CAST(id AS VARCHAR)",
  },
] as const;
const asked = z.object({ words: z.string(), answers: z.array(z.string()) });
const MOST = 10;

/** As a person types: without case and accents, the last word in another form. */
const typed = (words: string): string => {
  const plain = words.normalize("NFD").replaceAll(/\p{M}/gu, "").toLowerCase();
  return /[a-z]{4}$/.test(plain) ? `${plain.replace(/s$/, "")}s` : plain;
};

const rankOf = async (words: string, answers: readonly string[]): Promise<number> => {
  const found = await search(sandbox.database, { words: typed(words), tables: [], limit: MOST });
  return found.findIndex(({ key }) => answers.includes(String(key.id))) + 1;
};

test("of fifty questions nearly all are answered among the first ten, half of them first", async () => {
  const table: string[] = [];
  const ranks: number[] = [];
  for (const { table: name, asks, words, key, same } of KINDS) {
    const questions = await sandbox.database.query(
      `SELECT any_value(words) AS words, list(key) AS answers FROM (
         SELECT ${words} AS words, ${key} AS key, ${same} AS same FROM main.${name}
       ) WHERE words IS NOT NULL GROUP BY same ORDER BY md5(same) LIMIT ${asks}`,
      [],
      asked,
    );
    expect(questions).toHaveLength(asks);
    const own: number[] = [];
    for (const { words: question, answers } of questions) own.push(await rankOf(question, answers));
    ranks.push(...own);
    table.push(`${name}: ${own.filter((rank) => rank > 0).length} of ${asks} found, ranks ${own.join(" ")}`);
  }
  const recall = ranks.filter((rank) => rank > 0).length / ranks.length;
  const first = ranks.filter((rank) => rank === 1).length / ranks.length;
  const said = `${table.join("\n")}\nrecall at ${MOST}: ${recall}; first: ${first}`;
  process.stdout.write(`${said}\n`);
  expect(ranks).toHaveLength(50);
  expect(recall, said).toBeGreaterThanOrEqual(0.9);
  expect(first, said).toBeGreaterThanOrEqual(0.5);
});

const nothing = z.object({});
/** Processor time of a search for a word that no text has, the shorter of two, ms. */
const costOf = async (): Promise<number> => {
  const costs: number[] = [];
  for (const _ of ["cold", "warm"]) {
    const before = process.cpuUsage();
    expect(await search(sandbox.database, { words: "zzqqzz", tables: ["signals"], limit: MOST })).toEqual([]);
    const { user, system } = process.cpuUsage(before);
    costs.push((user + system) / 1000);
  }
  return Math.min(...costs);
};

test("a dash in every text makes a search a few times as dear, not twenty times", async () => {
  const { database } = sandbox;
  await database.query(
    `INSERT INTO main.signals (id, organization_id, account_id, type, headline, description, _first_synced_at, _synced_at, _run_id)
     SELECT 5000000 + i, 'o', 1, 'news', 'Signal ' || i, repeat(md5(i::VARCHAR) || ' ', 6), now(), now(), 'r' FROM range(200000) AS t(i)`,
    [],
    nothing,
  );
  const plain = await costOf();
  await database.query("UPDATE main.signals SET description = description || '—' WHERE id >= 5000000", [], nothing);
  const dashed = await costOf();
  process.stdout.write(`${JSON.stringify({ plain, dashed })}\n`);
  expect(dashed).toBeLessThan(6 * plain);
});
