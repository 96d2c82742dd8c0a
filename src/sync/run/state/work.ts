// Work of a run: the lists and records that it reads now, those that it has taken up, and whether finished work may have made others due.
// Owns them. The backlog takes and opens lists, list ends finish or drop them; whoever finds that more may be due asks for a plan.
import { ORGANIZATION_LISTS, type StreamName } from "../../../catalog/streams.ts";
import type { ScopeState } from "../../../warehouse/record/checkpoint.ts";
import { isExcerpt, liveOf, progressOf } from "../../list/state.ts";
import { type Candidate, stateKey } from "../../plan/candidate.ts";
import { isScoped } from "../../rows/row-scope.ts";
import type { OpenList } from "./open-list.ts";
import type { SyncOptions } from "./run-input.ts";

type Choice = Pick<SyncOptions, "configured" | "rowScope">;

/** What the mirror holds when the run begins. */
interface Mirrored {
  /** Number of rows per list, by `stateKey`. */
  readonly rows: ReadonlyMap<string, number>;
  readonly states: ReadonlyMap<string, ScopeState>;
}

const isList = ({ candidate, state }: OpenList): boolean => progressOf(state) !== null && candidate.scope === "";

export class Work {
  readonly #choice: Choice;
  readonly #rows: Map<string, number>;
  readonly #open = new Map<string, OpenList>();
  readonly #taken = new Set<string>();
  /**
   * Lists whose records may come along with insights: those that this mirror holds whole and that are not read now. While a list is
   * read, its pages are newer than embedded records; with a scope of its own, records outside would be embedded too.
   */
  readonly #embeddable: Set<StreamName>;
  #isPlanDue = false;

  constructor({ rows, states }: Mirrored, choice: Choice) {
    this.#choice = choice;
    this.#rows = new Map(rows);
    this.#embeddable = new Set(
      ORGANIZATION_LISTS.filter((name) => {
        const state = states.get(stateKey(name, ""));
        return this.#mayComeAlong(name) && state?.status === "idle" && state.walkedAt !== null;
      }),
    );
  }

  #mayComeAlong(name: StreamName): boolean {
    return this.#choice.configured.includes(name) && !isScoped(this.#choice.rowScope, name);
  }

  get embeddable(): ReadonlySet<string> {
    return this.#embeddable;
  }

  /** Marks the candidates as taken, and returns those that no earlier plan of this run took. */
  take(candidates: readonly Candidate[]): readonly Candidate[] {
    const fresh = candidates.filter(({ stream, scope }) => !this.hasTaken(stateKey(stream, scope)));
    for (const { stream, scope } of fresh) this.#taken.add(stateKey(stream, scope));
    return fresh;
  }

  hasTaken(key: string): boolean {
    return this.#taken.has(key);
  }

  /** The next plan may take the list or record once more. */
  allowAgain(key: string): void {
    this.#taken.delete(key);
  }

  /** True when a list or record of the stream was taken. */
  hasTakenOf(stream: StreamName): boolean {
    return [...this.#taken].some((key) => key.startsWith(stateKey(stream, "")));
  }

  /** The lists and records that are read now, in the order in which they were opened. */
  lists(): IterableIterator<OpenList> {
    return this.#open.values();
  }

  listsOf(stream: StreamName): readonly OpenList[] {
    return [...this.lists()].filter((list) => list.stream.name === stream);
  }

  list(key: string): OpenList | undefined {
    return this.#open.get(key);
  }

  get openLists(): number {
    return this.#open.size;
  }

  /** The list is read from now on. Its records do not come along until it is finished. */
  open(list: OpenList): void {
    if (isList(list)) this.#embeddable.delete(list.stream.name);
    this.#open.set(list.key, list);
  }

  /** The list was read to its end: its records may come along again. */
  finish(list: OpenList): void {
    this.drop(list);
    const { name } = list.stream;
    if (isList(list) && !isExcerpt(list.state) && this.#mayComeAlong(name)) this.#embeddable.add(name);
  }

  /** The list is read no further in this run. */
  drop({ key }: OpenList): void {
    this.#open.delete(key);
  }

  /** Mirrored rows of a list. */
  rowsOf(key: string): number {
    return this.#rows.get(key) ?? 0;
  }

  /** The mirrored rows of the list are what its state counts. */
  countRows({ key, state }: OpenList): void {
    this.#rows.set(key, liveOf(state).rows);
  }

  /** The number of mirrored rows of a list that is read changed by `by`. */
  adjustRows(list: OpenList, by: number): void {
    list.tell({ kind: "rows", by });
    this.countRows(list);
  }

  /** Rows were added to a list that may not be read now. */
  addRows(key: string, by: number): void {
    this.#rows.set(key, this.rowsOf(key) + by);
    this.list(key)?.tell({ kind: "rows", by });
  }

  /** Finished work may make other lists or records due. */
  planAgain(): void {
    this.#isPlanDue = true;
  }

  get isPlanDue(): boolean {
    return this.#isPlanDue;
  }

  /** A plan begins, which sees what was finished until now. */
  beginPlan(): void {
    this.#isPlanDue = false;
  }
}
