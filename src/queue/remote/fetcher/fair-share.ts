// Fair share: how many of a fetcher's slots one organization may hold. PURE but for its counters.
// A request that hangs is waiting, not work: after a while it gives its slot back, so that no number of organizations
// that do not answer can hold up the others.

export interface Seat {
  /** The request hangs: it holds no slot any more. */
  slow(): void;
  leave(): void;
}

export interface FairShare {
  /** Whether `profile` may take one more slot; `wanted`: others wait for one, too. */
  admits(profile: string, wanted: boolean): boolean;
  enter(profile: string): Seat;
  /** Requests that hang: as many jobs more than slots may be under way. */
  hanging(): number;
}

/** Share of the slots that one organization may hold while others wait. */
const SHARE = 0.25;

/** `slots`: how many requests that do not hang may be under way. */
export const createFairShare = (slots: number): FairShare => {
  const held = new Map<string, number>();
  let hanging = 0;
  const most = Math.max(1, Math.floor(slots * SHARE));
  const change = (profile: string, by: number) => {
    const count = (held.get(profile) ?? 0) + by;
    if (count > 0) held.set(profile, count);
    else held.delete(profile);
  };
  return {
    admits: (profile, wanted) => !wanted || (held.get(profile) ?? 0) < most,
    enter: (profile) => {
      let state: "seated" | "hanging" | "left" = "seated";
      change(profile, 1);
      return {
        slow: () => {
          if (state !== "seated") return;
          state = "hanging";
          change(profile, -1);
          hanging += 1;
        },
        leave: () => {
          if (state === "seated") change(profile, -1);
          if (state === "hanging") hanging -= 1;
          state = "left";
        },
      };
    },
    hanging: () => hanging,
  };
};
