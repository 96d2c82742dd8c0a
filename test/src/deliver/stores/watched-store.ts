// A store of which each request is known before it is made, so that a test can delay it or let it fail.
import type { ObjectStore } from "../../../../src/deliver/stores/object-store.ts";

type Request = "get" | "put" | "upload" | "download" | "delete";

/** `on` is awaited before each request; what it throws fails the request. */
export const watched = (store: ObjectStore, on: (what: Request, key: string) => unknown): ObjectStore => ({
  ...store,
  get: async (key, ...rest) => {
    await on("get", key);
    return store.get(key, ...rest);
  },
  put: async (key, ...rest) => {
    await on("put", key);
    return store.put(key, ...rest);
  },
  upload: async (key, ...rest) => {
    await on("upload", key);
    return store.upload(key, ...rest);
  },
  download: async (key, ...rest) => {
    await on("download", key);
    return store.download(key, ...rest);
  },
  delete: async (keys, ...rest) => {
    await on("delete", keys.join());
    return store.delete(keys, ...rest);
  },
});
