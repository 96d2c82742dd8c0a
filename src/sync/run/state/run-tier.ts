// The organization's access tier (API.md, "Access tiers") during a run. Pages and refused deletes change it. Protects mirrored rows: empty
// lists of a lowered tier must not delete them.
import { ORGANIZATION_LISTS, streamSpec } from "../../../catalog/streams.ts";
import {
  accessOf,
  isNews,
  type KnownTier,
  probeAt,
  type TierAccess,
  type TierEvidence,
} from "../../../core/state/tier.ts";
import type { PageRead } from "../../list/coverage/read-types.ts";
import { readingOf } from "../../list/state.ts";
import { stateKey } from "../../plan/candidate.ts";
import { storeTier } from "../../plan/capabilities.ts";
import type { Forms } from "./forms.ts";
import type { OpenList } from "./open-list.ts";
import type { RunConstants } from "./run-input.ts";
import type { Work } from "./work.ts";

type TierRun = RunConstants & { readonly forms: Forms; readonly work: Work };

export class RunTier {
  readonly #run: TierRun;
  #known: KnownTier | null;
  #isLowered = false;
  #hasRows = false;

  constructor(run: TierRun) {
    this.#run = run;
    this.#known = run.deps.tier.known;
  }

  get isPublic(): boolean {
    return this.#known?.tier === "public";
  }

  /** Lists of the Full Access tier are empty although the mirror holds rows. */
  get isLowered(): boolean {
    return this.#isLowered;
  }

  noteLowered(): void {
    this.#isLowered = true;
  }

  /** A list of the Full Access tier was not empty in this run, so the organization has that tier. */
  get hasRows(): boolean {
    return this.#hasRows;
  }

  /** A page of the list was received, which may not be committed yet. */
  notePage({ stream }: OpenList, page: PageRead): void {
    if (stream.tier === "full" && page.rows > 0) this.#hasRows = true;
  }

  /** Routes of the Full Access tier that may be asked now. */
  access(): TierAccess {
    const { work, options, deps } = this.#run;
    const access = accessOf(this.#known, deps.clock.now(), options.allowMassDelete);
    const accounts = stateKey("accounts", "");
    // An account list that failed, or showed nothing, must not hold up the others.
    const list = work.open.get(accounts);
    const asked = work.taken.has(accounts) && (list === undefined || readingOf(list.state)?.pages !== 0);
    return access === "unknown" && asked ? "open" : access;
  }

  /** Takes from a committed page of a list what it shows about the tier. */
  async learnFrom(list: OpenList, page: PageRead): Promise<void> {
    const { deps, work } = this.#run;
    const before = this.#known?.tier;
    const evidence = this.#evidenceOf(list, page);
    if (evidence !== null && isNews(this.#known, evidence, deps.clock.now())) {
      this.#known = await deps.tier.learn(evidence);
      await storeTier(deps.warehouse, this.#known, deps.clock.now());
      if (this.#known?.tier !== before) this.announce();
    }
    // Work that waited for the account list's first page becomes due.
    if (this.#known?.tier !== before || (before === undefined && list.stream.name === "accounts")) work.planAgain();
  }

  #evidenceOf(list: OpenList, page: PageRead): TierEvidence | null {
    const { forms, work } = this.#run;
    const { name, tier } = list.stream;
    if (tier !== "full") return null;
    if (page.rows > 0) return { shows: "full", because: `${name} were returned` };
    // An organization with Full Access has accounts; it may have no contacts and no signals.
    const isEmpty = name === "accounts" && !forms.isFiltered(name) && page.page === 1 && (page.total ?? 0) === 0;
    const held = ORGANIZATION_LISTS.some((each) => work.rowsOf(stateKey(each, "")) > 0);
    return isEmpty && !this.#hasRows ? { shows: "public", because: "the account list is empty", held } : null;
  }

  /** Says which streams are not asked for without Full Access, and that nothing is followed. */
  announce(): void {
    const { options, deps } = this.#run;
    const tier = this.#known;
    const left = options.streams.filter((name) => streamSpec(name).tier === "full");
    if (tier?.tier !== "public" || left.length === 0 || options.allowMassDelete) return;
    const next = new Date(probeAt(tier)).toISOString().slice(0, 10);
    const text =
      `No Full Access since ${new Date(tier.since).toISOString().slice(0, 10)} (${tier.evidence}): ` +
      `${left.join(", ")} are asked for again on ${next}; \`duckmirror check\` asks now.`;
    deps.emit({ kind: "note", level: "info", text });
    if (options.companies.length > 0) return;
    const advice = "No company is followed, so nothing is mirrored: `duckmirror follow INPUT` adds one.";
    deps.emit({ kind: "note", level: "warn", text: advice });
  }
}
