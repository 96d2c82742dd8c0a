// The lists and records that a run reads now, the keys of those that it has begun or finished, the rows that the mirror holds of each, and
// the lists whose records may come along with others. backlog.ts begins them, list-ends.ts removes them. Code that makes other lists due
// requests a new plan here (`planAgain`). Not the `Work` of checkpoint.ts, which is a request's kind of work.
import { ORGANIZATION_LISTS, type StreamName } from "../../../catalog/streams.ts";
import type { ScopeState } from "../../../warehouse/record/checkpoint.ts";
import { isExcerpt, liveOf, progressOf } from "../../list/state.ts";
import { type Candidate, stateKey } from "../../plan/candidate.ts";
import { isScoped } from "../../rows/row-scope.ts";
import type { OpenList } from "./open-list.ts";
import type { SyncOptions } from "./run-input.ts";

/** What the mirror holds when the run begins, by `stateKey`. */
interface Mirrored {
  readonly rows: ReadonlyMap<string, number>;
  readonly states: ReadonlyMap<string, ScopeState>;
}

const isList = ({ candidate, state }: OpenList): boolean => progressOf(state) !== null && candidate.scope === "";

export class Work {
  readonly #choice: Pick<SyncOptions, "configured" | "rowScope">;
  readonly #rows: Map<string, number>;
  readonly #open = new Map<string, OpenList>();
  readonly #taken = new Set<string>();
  readonly #embeddable = new Set<StreamName>();
  #isPlanDue = false;
  /** Lists and records that are read now, by `stateKey`. */
  readonly open: ReadonlyMap<string, OpenList> = this.#open;
  /** Those that this run has begun or finished. */
  readonly taken: ReadonlySet<string> = this.#taken;
  /**
   * Lists whose records may come along with insights: those that this mirror holds whole and that are not read now. While a list is
   * read, its pages are newer than embedded records; with a scope of its own, records outside would be embedded too.
   */
  readonly embeddable: ReadonlySet<string> = this.#embeddable;

  constructor({ rows, states }: Mirrored, choice: Pick<SyncOptions, "configured" | "rowScope">) {
    this.#choice = choice;
    this.#rows = new Map(rows);
    const isHeld = (state?: ScopeState) => state?.status === "idle" && state.walkedAt !== null;
    const held = ORGANIZATION_LISTS.filter((name) => isHeld(states.get(stateKey(name, ""))));
    for (const name of held) if (this.#mayComeAlong(name)) this.#embeddable.add(name);
  }

  #mayComeAlong(name: StreamName): boolean {
    return this.#choice.configured.includes(name) && !isScoped(this.#choice.rowScope, name);
  }

  /** Marks the candidates as taken, and returns those that no earlier plan of this run took. */
  take(candidates: readonly Candidate[]): readonly Candidate[] {
    const fresh = candidates.filter(({ stream, scope }) => !this.#taken.has(stateKey(stream, scope)));
    for (const { stream, scope } of fresh) this.#taken.add(stateKey(stream, scope));
    return fresh;
  }

  /** The next plan may take the list or record once more. */
  allowAgain(key: string): void {
    this.#taken.delete(key);
  }

  listsOf(stream: StreamName): readonly OpenList[] {
    return [...this.#open.values()].filter((list) => list.stream.name === stream);
  }

  /** The list is read from now on. Its records do not come along until it is finished. */
  begin(list: OpenList): void {
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

  /** Rows of a list that is read were added or removed beside its pages. */
  adjustRows(list: OpenList, by: number): void {
    list.transition({ kind: "rows", by });
    this.countRows(list);
  }

  /** Rows were added to a list that may not be read now. */
  addRows(key: string, by: number): void {
    this.#rows.set(key, this.rowsOf(key) + by);
    this.#open.get(key)?.transition({ kind: "rows", by });
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
