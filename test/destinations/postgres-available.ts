// Global setup: Postgres is on this machine before the first test starts. What is missing fails with what to install.
import { installPostgres, postgresPrograms } from "../support/postgres.ts";

export default (): void => {
  if (postgresPrograms() === null) installPostgres();
};
