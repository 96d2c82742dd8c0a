// Who may stay connected when there are too many connections: the oldest one that brought no whole request makes room, of
// the network that holds the most. So a newcomer is answered while others hold all connections. Pure but for `close`.

export interface Guest {
  readonly network: string;
  /** Somebody waits for an answer on it: a request has come whole. */
  isBusy(): boolean;
  /** Ends the connection. */
  close(): void;
}

export interface RoomLimits {
  readonly connections: number;
  readonly perNetwork: number;
}

export interface Room {
  /** Lets a connection in; another may have to go for it. False: there is no room. */
  enter(guest: Guest): boolean;
  leave(guest: Guest): void;
}

export const createRoom = ({ connections, perNetwork }: RoomLimits): Room => {
  /** In the order of their beginning. */
  const present = new Set<Guest>();
  const counts = new Map<string, number>();
  const countOf = (network: string) => counts.get(network) ?? 0;

  const leave = (guest: Guest): void => {
    if (!present.delete(guest)) return;
    const left = countOf(guest.network) - 1;
    if (left > 0) counts.set(guest.network, left);
    else counts.delete(guest.network);
  };

  /** An idle one goes for a network that holds as many at most, a busy one only for a network that holds two fewer. */
  const weakest = (network: string): Guest | null => {
    const own = countOf(network);
    let found: { readonly guest: Guest; readonly busy: boolean; readonly count: number } | null = null;
    for (const guest of present) {
      const count = countOf(guest.network);
      const busy = guest.isBusy();
      const mayGo =
        own >= perNetwork ? guest.network === network && !busy : busy ? count >= own + 2 : count >= Math.max(own, 1);
      if (!mayGo) continue;
      const isWeaker = found === null || (busy === found.busy ? count > found.count : found.busy);
      if (isWeaker) found = { guest, busy, count };
    }
    return found?.guest ?? null;
  };

  return {
    enter: (guest) => {
      if (present.size >= connections || countOf(guest.network) >= perNetwork) {
        const goes = weakest(guest.network);
        if (goes === null) return false;
        leave(goes);
        goes.close();
      }
      present.add(guest);
      counts.set(guest.network, countOf(guest.network) + 1);
      return true;
    },
    leave,
  };
};
