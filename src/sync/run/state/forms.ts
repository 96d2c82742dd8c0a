// The form (list/form.ts) in which a run requests each list, and what the responses have shown of it. All lists of a stream share one form,
// which changes by `use` and `store` only; a single list may try others.
import { type StreamName, streamSpec } from "../../../catalog/streams.ts";
import { SCOPED_TABLES, type ScopedTable } from "../../../catalog/tables.ts";
import type { RowScope } from "../../../core/config/planning/scope-settings.ts";
import type { Beginning } from "../../list/events.ts";
import { initialForm, type ListForm } from "../../list/form.ts";
import { progressOf } from "../../list/state.ts";
import { filtersOf } from "../../rows/row-scope.ts";
import type { OpenList } from "./open-list.ts";
import type { RunConstants } from "./run-input.ts";

/** Lists and records of a stream that are refused in every form, after which no other form is tried for a further one. */
const MOST_IN_VAIN = 3;

/** Attempts at a page of a size that nothing has shown to be the right one: more of them would only delay the next size. */
const ATTEMPTS_A_SIZE = 3;

/** True where the list is one of many of its kind: the first refusal may be its own. */
export const isOneOfMany = ({ stream, state }: OpenList): boolean =>
  stream.scope !== "organization" || progressOf(state) === null;

const kindOf = ({ stream, state }: OpenList) => `${stream.name}/${progressOf(state) === null ? "record" : "list"}`;

export interface FormsOptions {
  /** Rows of a page while nothing is known of a stream. */
  readonly largestPage: number;
  readonly rowScope: RowScope;
  /** Keeps a stream's form for the next sync. */
  readonly remember: (stream: StreamName, form: ListForm) => Promise<void>;
}

export class Forms {
  readonly #options: FormsOptions;
  readonly #ofStreams: Map<StreamName, ListForm>;
  readonly ofStreams: ReadonlyMap<StreamName, ListForm>;
  /** Streams for which the setting `scope` has filters that the service takes. */
  readonly #scoped: ReadonlySet<StreamName>;
  /** Rows of the largest page of each stream that the service has returned in this run. */
  readonly #largest = new Map<StreamName, number>();
  /** Form of each stream before smaller pages were asked for in this run; null: pages of every size failed. */
  readonly #beforeSmaller = new Map<StreamName, ListForm | null>();
  // Forms that one list or record of many is asked for in after its own refusals. The others may be returned in their stream's form,
  // so the tried form becomes the stream's only if nothing of its kind was returned in the stream's form in this run.
  readonly #tried = new Map<OpenList, ListForm>();
  readonly #returnedInStreams = new Set<string>();
  readonly #inVain = new Map<string, number>();

  constructor(stored: ReadonlyMap<StreamName, ListForm>, options: FormsOptions) {
    this.#ofStreams = new Map(stored);
    this.ofStreams = this.#ofStreams;
    this.#options = options;
    this.#scoped = new Set(SCOPED_TABLES.filter((stream) => filtersOf(options.rowScope, stream) !== null));
  }

  /** The stream's form; if unknown, the start form with the largest page. */
  ofStream(stream: StreamName): ListForm {
    return this.#ofStreams.get(stream) ?? initialForm(this.#options.largestPage);
  }

  /** The form that the list is asked for in: its own after its own refusals, else that of its stream. */
  of(list: OpenList): ListForm {
    return this.#tried.get(list) ?? this.ofStream(list.stream.name);
  }

  /** True when the stream's list is read with the filters of the setting `scope`. */
  isFiltered(stream: StreamName): stream is ScopedTable {
    return this.#scoped.has(stream) && this.ofStream(stream).filters;
  }

  /** Forms of lists that returned a page. Those of single records know no page size. */
  ofLists(): readonly ListForm[] {
    return [...this.#ofStreams].flatMap(([name, form]) =>
      form.settled && streamSpec(name).list !== undefined ? [form] : [],
    );
  }

  /** The stream is asked for in this form in this run. */
  use(stream: StreamName, form: ListForm): void {
    this.#ofStreams.set(stream, form);
  }

  /** The stream is asked for in this form, also by the next sync. */
  async store(stream: StreamName, form: ListForm): Promise<void> {
    this.use(stream, form);
    await this.#options.remember(stream, form);
  }

  largestPage(stream: StreamName): number {
    return this.#largest.get(stream) ?? 0;
  }

  notePage(stream: StreamName, rows: number): void {
    this.#largest.set(stream, Math.max(this.largestPage(stream), rows));
  }

  /** Limit of attempts while smaller pages are tried; empty: the retry policy decides. */
  attempts(stream: StreamName): { readonly maxAttempts?: number } {
    const isTrying = this.#beforeSmaller.get(stream) != null && !this.ofStream(stream).settled;
    return isTrying ? { maxAttempts: ATTEMPTS_A_SIZE } : {};
  }

  /** The stream's form before smaller pages were asked for; null: pages of every size failed; undefined: none were. */
  beforeSmaller(stream: StreamName): ListForm | null | undefined {
    return this.#beforeSmaller.get(stream);
  }

  noteSmaller(stream: StreamName, before: ListForm | null): void {
    this.#beforeSmaller.set(stream, before);
  }

  /** True while the list is asked for in a form of its own. */
  hasOwn(list: OpenList): boolean {
    return this.#tried.has(list);
  }

  /** False once enough others of its kind were refused in every form: the form is not the reason. */
  mayTry(list: OpenList): boolean {
    const most = this.#returnedInStreams.has(kindOf(list)) ? 1 : MOST_IN_VAIN;
    return this.hasOwn(list) || (this.#inVain.get(kindOf(list)) ?? 0) < most;
  }

  try(list: OpenList, form: ListForm): void {
    this.#tried.set(list, form);
  }

  /** The list was refused in every form. */
  giveUp(list: OpenList): void {
    this.#tried.delete(list);
    this.#inVain.set(kindOf(list), (this.#inVain.get(kindOf(list)) ?? 0) + 1);
  }

  /**
   * The list was returned, in `form` if it is one of its own. `own`: others are returned in the stream's form, so it
   * keeps this one for itself. `stream`: it is the stream's form now, or was.
   */
  returned(list: OpenList, form: ListForm): "own" | "stream" {
    const kind = kindOf(list);
    if (this.hasOwn(list) && isOneOfMany(list) && this.#returnedInStreams.has(kind)) {
      this.#tried.set(list, form);
      return "own";
    }
    this.#tried.delete(list);
    this.#returnedInStreams.add(kind);
    return "stream";
  }
}

/** With what a reading of the list begins now. */
export const beginningOf = (
  { runId, deps, forms }: RunConstants & { readonly forms: Forms },
  { stream }: Pick<OpenList, "stream">,
): Beginning => ({ runId, now: deps.clock.now(), shape: forms.ofStream(stream.name) });
