// What may be gone from the service: lists that lost rows, companies and owners that no account brought along, profiles that answered 404.
// Owns these until they are decided on together (settle/): one answer proves little, and a delete is guarded by the rows of all.
import type { StreamName } from "../../../catalog/streams.ts";
import type { OpenList } from "./open-list.ts";

/** A company profile answered with 404; `doubtful`: with text in place of JSON. */
export interface AbsentCompany {
  readonly list: OpenList;
  readonly doubtful: boolean;
}

export class Gone {
  readonly #waitForAccounts: OpenList[] = [];
  readonly #losing: OpenList[] = [];
  readonly #absent: AbsentCompany[] = [];
  /** Ids that accounts embedded in this run. */
  readonly #embedded = { companies: new Set<string>(), owners: new Set<string>() };
  #hasAllAccounts = false;
  /** Companies of which a list that had rows answered 404. */
  readonly #suspects = new Set<string>();
  readonly #compared = new Map<StreamName, number>();

  /** The list lost rows, and the list of accounts will show whose rows may be gone. */
  waitForAccounts(list: OpenList): void {
    this.#waitForAccounts.push(list);
  }

  takeWaiting(): readonly OpenList[] {
    return this.#waitForAccounts.splice(0);
  }

  /** The list of a company lost rows: it is decided on when its stream is done. */
  lose(list: OpenList): void {
    this.#losing.push(list);
  }

  /** Company lists that lost rows. */
  get losing(): readonly OpenList[] {
    return this.#losing;
  }

  takeLosing(): readonly OpenList[] {
    return this.#losing.splice(0);
  }

  noteAbsent(company: AbsentCompany): void {
    this.#absent.push(company);
  }

  takeAbsent(): readonly AbsentCompany[] {
    return this.#absent.splice(0);
  }

  /** An account embedded this company or owner. */
  noteEmbedded(table: "companies" | "owners", id: string): void {
    this.#embedded[table].add(id);
  }

  /** A walk of all accounts, begun in this run, has ended. */
  noteAllAccounts(): void {
    this.#hasAllAccounts = true;
  }

  get hasAllAccounts(): boolean {
    return this.#hasAllAccounts;
  }

  /** Owners that accounts embedded in this run. */
  get owners(): ReadonlySet<string> {
    return this.#embedded.owners;
  }

  /** A list of the company that had rows answered 404. */
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
  compare(stream: StreamName, rows: number): void {
    this.#compared.set(stream, this.compared(stream) + rows);
  }

  compared(stream: StreamName): number {
    return this.#compared.get(stream) ?? 0;
  }
}
