// The service's own log of the requests it was sent, and a way to wait for some of them.
import type { Sandbox } from "../../src/sandbox/sandbox.ts";

export interface ServedRequest {
  /** Path and query. */
  readonly url: string;
  /** Time of arrival, ms since the epoch. */
  readonly at: number;
  /** null: not answered yet. */
  status: number | null;
}

export interface ServiceLog {
  /** In order of arrival. */
  readonly served: readonly ServedRequest[];
  /** URLs of the answers that cost a credit, in order of arrival. `from`: index of the first request. */
  paid(from?: number): readonly string[];
  /** Resolves at the `count`th request from now. A later call replaces an earlier one. */
  afterRequests(count: number): Promise<void>;
  /** Runs work whose requests are not logged. */
  unlogged<T>(work: () => Promise<T>): Promise<T>;
}

export const logRequests = (sandbox: Sandbox): ServiceLog => {
  const served: ServedRequest[] = [];
  let isLogging = true;
  let onRequest = (): void => undefined;
  sandbox.intercept(async (request, next) => {
    if (!isLogging) return next();
    const url = `${request.path}?${new URLSearchParams(request.query)}`;
    const entry: ServedRequest = { url, at: Date.now(), status: null };
    served.push(entry);
    onRequest();
    const response = await next();
    entry.status = response.status;
    return response;
  });
  return {
    served,
    paid: (from = 0) => served.slice(from).flatMap(({ url, status }) => (status === 200 ? [url] : [])),
    afterRequests: (count) =>
      new Promise((resolve) => {
        let left = count;
        onRequest = () => {
          left -= 1;
          if (left === 0) resolve();
        };
      }),
    unlogged: async (work) => {
      isLogging = false;
      return work().finally(() => {
        isLogging = true;
      });
    },
  };
};
