// The state machine of a list that a run reads: takes a state (state.ts) and an event (events.ts), returns the next state and the effects
// that the run carries out. Pure and total: every state accepts every event. SPEC.md has the table.
import { routeOf } from "../../catalog/streams.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import { isForgottenId } from "../../core/forgotten.ts";
import type { LoadCounts } from "../../warehouse/record/checkpoint.ts";
import type { PageRead, ReadRequest } from "./coverage/read-types.ts";
import { concluded, decide, deletingOf, walkInstead } from "./decide.ts";
import type { Effect, ListEvent, Transition } from "./events.ts";
import {
  type Active,
  type Deleting,
  isActive,
  type ListState,
  type Live,
  MOST_AHEAD_MS,
  NO_ROWS,
  type Reading,
} from "./state.ts";
import { closeByChanges, leaveReading, withForm } from "./switch-reading.ts";
import { acceptRead, inPagesOf, withPageSize, withTotal } from "./ways/progress.ts";

const NO_IDS: ReadonlySet<string> = new Set();

const sameRead = (a: ReadRequest, b: ReadRequest) => a.page === b.page && a.perPage === b.perPage && a.role === b.role;

/** Without one of the wanted pages: it was answered, or will not be. */
const without = <L extends Active>(list: L, read: ReadRequest, uncommitted = 0): L => {
  const { requests } = list;
  const index = requests.wanted.findIndex((other) => sameRead(other, read));
  const wanted = index < 0 ? requests.wanted : requests.wanted.toSpliced(index, 1);
  return { ...list, requests: { ...requests, wanted, uncommitted: requests.uncommitted + uncommitted } };
};

/** The newest value that is not too far ahead; null: none is. */
const newestOf = (values: PageRead["values"], receivedAt: number): number | null => {
  let newest: number | null = null;
  for (const value of values)
    if (value !== null && value <= receivedAt + MOST_AHEAD_MS && value > (newest ?? Number.NEGATIVE_INFINITY))
      newest = value;
  return newest;
};

/** What a page adds: progress of the way, ids seen, the newest change. */
const withPage = (reading: Reading, read: PageRead, receivedAt: number): Reading => {
  const newest = newestOf(read.values, receivedAt);
  const pages = reading.pages + 1;
  return {
    ...reading,
    readAt: Math.max(reading.readAt, receivedAt),
    firstReadAt: reading.firstReadAt === 0 ? receivedAt : reading.firstReadAt,
    firstNewest: reading.firstNewest ?? newest,
    newest: newest === null ? reading.newest : Math.max(reading.newest ?? newest, newest),
    pages,
    forgotten: new Set([...reading.forgotten, ...read.ids.filter(isForgottenId)]),
    onlyPage: pages === 1 ? new Set(read.ids.filter((id) => !isForgottenId(id))) : NO_IDS,
    progress: acceptRead(reading.progress, read),
  };
};

/** What the rows of a page, or of one that is asked for again, changed in the mirror. */
const withCounts = <L extends Active>(list: L, counts: LoadCounts, repeated: boolean): L => {
  const { inserted, updated } = list.firstForm;
  const firstForm = { inserted: inserted + counts.inserted, updated: updated + counts.updated };
  const rows = list.rows + counts.inserted;
  // Records of a repeated page that are no rows come again.
  if (repeated) return { ...list, rows, firstForm };
  const { rejected, misfits } = list.reading;
  return {
    ...list,
    rows,
    reading: { ...list.reading, rejected: rejected + counts.rejected, misfits: misfits + (counts.misfits ?? 0) },
    last: { ...firstForm, unchanged: counts.unchanged },
    firstForm: NO_ROWS,
  };
};

const loaded = <L extends Active>(list: L, { counts, repeated }: Extract<ListEvent, { kind: "loaded" }>): L => {
  const { requests } = list;
  const settled = { ...list, requests: { ...requests, uncommitted: Math.max(0, requests.uncommitted - 1) } };
  return counts === null ? settled : withCounts(settled, counts, repeated);
};

/** A page that was sent: the list wants it until it is answered. */
const withSent = <L extends Active>(list: L, read: ReadRequest): L => {
  const unsent = list.requests.unsent.filter((other) => other !== read);
  return { ...list, requests: { ...list.requests, unsent } };
};

const inSize = <L extends Active>(list: L, { size, exactly }: Extract<ListEvent, { kind: "pages-of" }>): L => {
  const resized = exactly ? inPagesOf(list.reading.progress, size) : withPageSize(list.reading.progress, size);
  return { ...list, reading: { ...list.reading, progress: resized } };
};

/** The lowest refused row decides; nothing from there on is requested. */
const withRefusal = (list: Active, { at, shape }: Extract<ListEvent, { kind: "page-refused" }>): Active => {
  const resized = inSize(list, { kind: "pages-of", size: shape.perPage, exactly: true });
  if (resized.kind !== "reading" || resized.reading.progress.kind !== "walk") return resized;
  return { ...resized, refused: { row: Math.min(resized.refused?.row ?? at.row, at.row), error: at.error } };
};

const withRefusedForm = <L extends Active>(list: L, event: Extract<ListEvent, { kind: "refused-form" }>): L => {
  const { accepted, later } = list.negotiation;
  const negotiation = {
    accepted: event.remembers ? (accepted ?? event.shape) : accepted,
    later: event.later ? later + 1 : later,
  };
  return { ...list, negotiation };
};

/** The list with its requests taken back: what comes of them is of no use. */
const idle = <L extends Active>(list: L): L => ({ ...list, requests: { ...list.requests, wanted: [], unsent: [] } });

/** The next run believes the pages only after it has asked the service again. */
const believedNoMore = (list: Deleting): Deleting =>
  list.reading === null ? list : { ...list, reading: { ...list.reading, readAt: 0 } };

/** What adds to a list of pages; null: the event decides something. */
const knownOfPages = (list: Active, event: ListEvent): Active | null => {
  switch (event.kind) {
    case "sent":
      return event.read === null ? list : withSent(list, event.read);
    case "unsent":
      return event.read === null ? list : without(list, event.read);
    case "lost":
      return without(list, event.read);
    case "page":
      return { ...without(list, event.read, 1), reading: withPage(list.reading, event.read, event.receivedAt) };
    case "repeated":
      return without(list, event.read, 1);
    case "loaded":
      return loaded(list, event);
    case "refused-form":
      return withRefusedForm(list, event);
    case "pages-of":
      return inSize(list, event);
    case "page-refused":
      return withRefusal(list, event);
    case "counted":
      return { ...list, reading: { ...list.reading, progress: withTotal(list.reading.progress, event.total) } };
    case "believed-no-more":
      return { ...list, reading: { ...list.reading, readAt: 0 } };
    default:
      return null;
  }
};

/** Events that add to what is known of a list, wherever it is; null: the event decides something. */
const known = (list: Live, event: ListEvent): Live | null => {
  if (event.kind === "rows") return { ...list, rows: list.rows + event.by };
  if (event.kind === "form") return withForm(list, event.shape);
  if (list.kind === "deleting") return event.kind === "believed-no-more" ? believedNoMore(list) : null;
  if (list.kind !== "single") return knownOfPages(list, event);
  if (event.kind === "sent" || event.kind === "unsent") return { ...list, asked: event.kind === "sent" };
  return event.kind === "record" ? { ...list, newest: event.version } : null;
};

const only = (state: ListState, ...effects: readonly Effect[]): Transition<ListState> => ({ state, effects });

/** The service knows the list no more: its company is gone, and so are all its rows. */
const absent = (list: Active): Transition<ListState> => {
  if (list.reading.pages > 0) {
    const detail = "the company disappeared while its list was read";
    const error = new DuckmirrorError("REQUEST_FAILED", { endpoint: routeOf(list.stream).path, detail });
    return only(list, { kind: "fail", error, resumable: false });
  }
  const gone = { ...list, reading: { ...list.reading, firstMirror: list.rows === 0 } };
  return concluded(gone, 0, { whole: true, addsUp: true });
};

/** Events that decide something, of a list that is read. */
const decided = (list: Active, event: ListEvent): Transition<ListState> => {
  switch (event.kind) {
    case "go-on":
      return decide(list, event.facts);
    case "walk":
      return walkInstead(idle(list), event.because, event);
    case "left": {
      const detour = leaveReading(idle(list), event.at, event);
      const mode = detour.reading.progress.kind === "watermark" ? [{ kind: "mode", mode: "watermark" } as const] : [];
      return only(detour, ...mode, { kind: "go-on" });
    }
    case "read-changes":
      return only(closeByChanges(list, event.shape), { kind: "go-on" });
    case "absent":
      return absent(list);
    default:
      return only(list);
  }
};

/** The next state. What comes after the end changes nothing, but pages that were under way are added to what has failed. */
export const next = (state: ListState, event: ListEvent): Transition<ListState> => {
  if (state.kind === "finished") return only(state);
  if (state.kind === "failed") {
    const list = event.kind === "failed" ? state.list : (known(state.list, event) ?? state.list);
    return only({ ...state, list });
  }
  if (event.kind === "failed") {
    const { error, resumable } = event;
    const list = isActive(state) ? { ...state, requests: { ...state.requests, unsent: [] } } : state;
    return only({ kind: "failed", list, code: error.code, resumable });
  }
  if (event.kind === "finished") return only({ kind: "finished", list: state });
  const more = known(state, event);
  if (more !== null) return only(more);
  if (isActive(state)) return decided(state, event);
  if (state.kind === "single" && event.kind === "absent") return only(deletingOf(state));
  return only(state);
};
