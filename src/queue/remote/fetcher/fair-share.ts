// Fair share: limits the slots of a fetcher that one organization may occupy. Pure except for its counters. A request
// that hangs uses nothing but its slot, so it returns the slot after a while: services that hang block no other organization.

export interface Seat {
  /** The request hangs and returns its slot. */
  slow(): void;
  leave(): void;
}

export interface FairShare {
  /** True when `profile` may take another slot; `wanted`: others wait for one. */
  admits(profile: string, wanted: boolean): boolean;
  enter(profile: string): Seat;
  /** Number of hanging requests; as many more jobs than slots may run. */
  hanging(): number;
}

/** Share of the slots that one organization may occupy while others wait. */
const SHARE = 0.25;

/** `slots`: most requests in flight, hanging ones excluded. */
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
