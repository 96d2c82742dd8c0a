// Global setup: a Redis server is on this machine before the first test starts, so that no two tests install it at once.
import { installRedis, redisBinary } from "./redis-binary.ts";

export default (): void => {
  if (redisBinary() === null) installRedis();
};
