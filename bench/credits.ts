// Case credits: what a first mirror, an unchanged source and a changed one cost, against the fewest credits possible.
import { atMost, type BenchCase, type Figure } from "./case.ts";
import { type BenchMirror, startBenchMirror } from "./mirror-of.ts";

const ACCOUNTS = 300;
const PAGE = 100;
const CHANGES = [0.001, 0.01, 0.1];

/** Pages of every list, at least one each, and one request per insight and capture: no reader can do with fewer. */
const lowerBound = async (mirror: BenchMirror): Promise<number> => {
  const lists = ["news_articles", "job_openings", "earnings_calls", "filings"].map(
    (table) => `(SELECT sum(greatest(1, ceil(coalesce(n, 0) / ${PAGE}))) FROM companies
      LEFT JOIN (SELECT company_id, count(*) AS n FROM ${table} GROUP BY 1) AS t ON t.company_id = companies.id)`,
  );
  const own = ["accounts", "contacts", "signals"].map((table) => `(SELECT ceil(count(*) / ${PAGE}) FROM ${table})`);
  const rest = ["(SELECT count(*) FROM accounts)", "3"];
  const parts = await mirror.numbers(`SELECT ${[...own, ...lists, ...rest].join(", ")}`);
  return parts.reduce((sum, part) => sum + part, 0);
};

/** Credits of a report without the request history, which grows by the very requests that read it. */
const spent = (report: Awaited<ReturnType<BenchMirror["sync"]>>, history: number): number =>
  report.credits.spent - history;

const historyPages = (report: Awaited<ReturnType<BenchMirror["sync"]>>): number => {
  const usage = report.streams.find((stream) => stream.stream === "usage");
  return Math.max(0, (usage?.credits ?? 0) - 2);
};

/** Changes a share of accounts, contacts and signals at the source, each with its change date. Answers with how many. */
const changeShare = async (mirror: BenchMirror, share: number, round: number): Promise<readonly number[]> => {
  const at = `TIMESTAMPTZ '2027-01-0${round} 00:00:00+00'`;
  const changes = [
    ["accounts", `name = name || ' ${round}', updated_at = ${at}`],
    ["contacts", `current_title = 'Title ${round}', last_change_detected_on = ${at}`],
    ["signals", `headline = headline || ' ${round}', updated_at = ${at}`],
  ] as const;
  const counts: number[] = [];
  for (const [table, change] of changes) {
    const rows = (await mirror.numbers(`SELECT count(*) FROM ${table}`))[0] ?? 0;
    const changed = Math.max(1, Math.round(rows * share));
    await mirror.sandbox.database.run(
      `UPDATE ${table} SET ${change} WHERE id IN (SELECT id FROM ${table} ORDER BY md5(id::VARCHAR || '${round}') LIMIT ${changed})`,
    );
    counts.push(changed);
  }
  return counts;
};

export const credits: BenchCase = {
  id: "credits",
  title: `Credits, ${ACCOUNTS} accounts, largest page ${PAGE}`,
  run: async () => {
    const mirror = await startBenchMirror({ accounts: ACCOUNTS, seed: 7, maxPerPage: PAGE });
    try {
      const first = await mirror.sync();
      const bound = await lowerBound(mirror);
      const figures: Figure[] = [
        atMost("first mirror, of the lower bound", spent(first, historyPages(first)) / bound, 1.02, " ×", 3),
      ];
      const unchanged = await mirror.sync();
      const listCredits = unchanged.streams.map((stream) => stream.credits);
      figures.push(
        atMost("unchanged sync, credits per list stream", Math.max(...listCredits), 1, "", 0),
        atMost(
          "unchanged sync, credits per company",
          unchanged.credits.spent - listCredits.filter((n) => n > 0).length,
          0,
          "",
          0,
        ),
      );
      for (const [index, share] of CHANGES.entries()) {
        const changed = await changeShare(mirror, share, index + 1);
        const report = await mirror.sync();
        // Changed rows stand together in the order of change; an account that changed has its insight fetched anew.
        const fewest = changed.reduce((sum, rows) => sum + Math.ceil(rows / PAGE), 0) + (changed[0] ?? 0);
        figures.push(
          atMost(
            `${share * 100}% changed, of the fewest pages that hold a change`,
            report.credits.spent / fewest,
            2,
            " ×",
          ),
        );
      }
      return figures;
    } finally {
      await mirror.close();
    }
  },
};
