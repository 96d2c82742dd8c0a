// Collects suspected deletions during a run: lists that lost rows, company profiles that returned 404, and companies and owners that no
// account embeds any more. reconcile/ decides on all of one kind at once, because the guard against mass deletes counts all their rows.
import type { StreamName } from "../../../catalog/streams.ts";
import type { TableLoad } from "../../../warehouse/record/checkpoint.ts";
import { idOf } from "../../rows/loads.ts";
import type { OpenList } from "./open-list.ts";

/** A company profile answered with 404; `doubtful`: with text in place of JSON. */
export interface AbsentCompany {
  readonly list: OpenList;
  readonly doubtful: boolean;
}

/** What waits for a common decision. */
class Undecided<Item> {
  #items: readonly Item[] = [];

  get items(): readonly Item[] {
    return this.#items;
  }

  add(item: Item): void {
    this.#items = [...this.#items, item];
  }

  take(): readonly Item[] {
    const items = this.#items;
    this.#items = [];
    return items;
  }
}

export class SuspectedDeletions {
  /** Lists that lost rows and wait for the list of accounts, which shows whose rows may be gone. */
  readonly awaitingAccounts = new Undecided<OpenList>();
  /** Company lists that lost rows; decided together when their stream is done. */
  readonly shrunkLists = new Undecided<OpenList>();
  readonly absentCompanies = new Undecided<AbsentCompany>();
  /** Companies and owners that accounts embedded in this run. */
  readonly #embedded = { companies: new Set<string>(), owners: new Set<string>() };
  readonly owners: ReadonlySet<string> = this.#embedded.owners;
  #hasAllAccounts = false;
  /** Companies of which a list that had rows answered 404. */
  readonly #suspects = new Set<string>();
  readonly #compared = new Map<StreamName, number>();

  /** Companies and owners that came along with a page of accounts. */
  noteEmbedded(loads: readonly TableLoad[]): void {
    for (const { table, records } of loads) {
      if (table !== "companies" && table !== "owners") continue;
      for (const record of records) this.#embedded[table].add(idOf(record) ?? "");
    }
  }

  /** A walk of all accounts, begun in this run, has ended. */
  noteAllAccounts(): void {
    this.#hasAllAccounts = true;
  }

  get hasAllAccounts(): boolean {
    return this.#hasAllAccounts;
  }

  suspect(companyId: string): void {
    this.#suspects.add(companyId);
  }

  /**
   * True when a company may be gone: its profile is asked for, which costs nothing if it is. `tracked`: an account links to
   * it, so that accounts would bring it along.
   */
  isSuspect(companyId: string, tracked = true): boolean {
    const { companies } = this.#embedded;
    const isUnmet = tracked && this.#hasAllAccounts && companies.size > 0;
    return !companies.has(companyId) && (isUnmet || this.#suspects.has(companyId));
  }

  /** A list of the stream was read completely. The share of deletes refers to the rows of all such lists. */
  countCompared(stream: StreamName, rows: number): void {
    this.#compared.set(stream, this.comparedRows(stream) + rows);
  }

  comparedRows(stream: StreamName): number {
    return this.#compared.get(stream) ?? 0;
  }
}
