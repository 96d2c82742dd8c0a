// THE table of errors: each failure with its message, hint for the user, and exit code.
// Callers branch on `code`, never on text. A test keeps docs/ERRORS.md equal to this table.
import { counted } from "./text/units.ts";

/** Exit codes of the command line (docs/COMMANDS.md). */
export const EXIT = {
  done: 0,
  unexpected: 1,
  usage: 2,
  credentials: 3,
  budget: 4,
  streamsFailed: 5,
  writerBusy: 6,
  interrupted: 130,
} as const;

interface ErrorRow {
  readonly exit: (typeof EXIT)[keyof typeof EXIT];
  /**
   * What happened, in one sentence. `{name}` is filled from the error's context; `{rows:row}` as `1 row`, `2 rows`.
   */
  readonly message: string;
  /** Advice for the user. */
  readonly hint: string;
}

const row = (exit: ErrorRow["exit"], message: string, hint: string): ErrorRow => ({ exit, message, hint });

export const ERRORS = {
  UNEXPECTED: row(
    EXIT.unexpected,
    "{detail}",
    "This is a fault of duckmirror. The mirror is consistent. Run the command again. If it fails again, run it with --verbose and report what it prints.",
  ),
  SINCE_UNSUPPORTED: row(
    EXIT.usage,
    "--since: the service has no date filter for {streams}",
    "Name only streams that the service filters by date ({able}), or leave out --since: `duckmirror sync` then reads what changed since the last sync.",
  ),
  USAGE: row(EXIT.usage, "{detail}", "Run the command with --help to see its options and examples."),
  CONFIG_INVALID: row(
    EXIT.usage,
    "The configuration is not valid: {detail}",
    "Correct the setting named above; `duckmirror init` writes a commented file with every setting.",
  ),
  CONFIG_FILE_UNREADABLE: row(
    EXIT.usage,
    "The configuration file {file} cannot be read: {detail}",
    "Check the path given with --config and the file's permissions.",
  ),
  CONFIG_FILE_UNWRITABLE: row(
    EXIT.usage,
    "The configuration file {file} cannot be written: {detail}",
    "Check the path given with --config and the folder's permissions.",
  ),
  PROFILE_UNKNOWN: row(
    EXIT.usage,
    "The configuration holds {which}; {detail}",
    "Name one with --profile (DUCKMIRROR_PROFILE), or as `profile` over HTTP. `trigger --all-profiles` asks for a sync of each.",
  ),
  FILE_EXISTS: row(
    EXIT.usage,
    "{file} exists already and was left as it is.",
    "Use --force to overwrite it, or --config to write another file.",
  ),
  BASE_URL_MISSING: row(
    EXIT.usage,
    "No base address is configured.",
    "Run `duckmirror init`, or set DUCKMIRROR_BASE_URL (or `base_url` in duckmirror.yaml) to the address of the service.",
  ),
  TOKEN_MISSING: row(
    EXIT.usage,
    "No access token is configured.",
    "Set DUCKMIRROR_TOKEN, or DUCKMIRROR_TOKEN_FILE to a file that holds the token.",
  ),
  TOKEN_FILE_UNREADABLE: row(
    EXIT.usage,
    "The token file {file} cannot be read: {detail}",
    "Check that DUCKMIRROR_TOKEN_FILE (or `token_file`) names the file that holds the token, and the file's permissions.",
  ),
  TOKEN_COMMAND_FAILED: row(
    EXIT.usage,
    "token_command did not give a token: {detail}.",
    "Run the command by hand: it must print the token, and nothing else, within 30 seconds.",
  ),
  TOKEN_OVER_PLAIN_HTTP: row(
    EXIT.usage,
    "The token would travel unencrypted to {origin}.",
    "Use an https:// address, or set `allow_plain_http: true` (DUCKMIRROR_ALLOW_PLAIN_HTTP=1) if you trust the network between this machine and the service.",
  ),
  CREDENTIALS_REFUSED: row(
    EXIT.credentials,
    "The service refused the credentials ({status} on {endpoint}).{token}",
    "Check that the token is current and belongs to this organization; it may have been replaced.",
  ),
  ROUTE_FORBIDDEN: row(
    EXIT.streamsFailed,
    "The service forbids {endpoint} ({status}).",
    "All else was read. The token may lack the right to this route or company. If it stays so, leave the stream out of the setting `streams`. Syncs ask again, after growing waits of up to a day; `duckmirror sync STREAM` asks at once.",
  ),
  QUOTA_SPENT: row(
    EXIT.budget,
    "The organization's credits are used up{until}.",
    "The mirror is consistent. The next sync after the reset, or after credits were added, continues from here.",
  ),
  BUDGET_SPENT: row(
    EXIT.budget,
    "The run reached its allowance of {allowance:credit}.",
    "The mirror is consistent, and the next sync continues from here. To spend more at once, raise --max-credits (or `max_credits`), or lower `reserve`; with `pace: even`, credits are shared by the time to the reset. `duckmirror plan` shows what is left.",
  ),
  BUDGET_REACHED: row(
    EXIT.budget,
    "Work is left for later syncs, because the credits of a budget are spent: {budgets}.",
    "The mirror is consistent. Later syncs do the work that is left; `duckmirror plan` shows it. To do it sooner, raise the limit in the setting `budgets`.",
  ),
  DURATION_SPENT: row(
    EXIT.budget,
    "The sync reached its time limit.",
    "The mirror is consistent. The next sync continues from here. The limit is --max-duration, `trigger --timeout` or the setting `sync_timeout`.",
  ),
  STREAMS_FAILED: row(
    EXIT.streamsFailed,
    "Some streams failed: {streams}.",
    "The others are committed. The warnings above say why, and what to do. Then run sync again: it fetches what failed, and what has changed since.",
  ),
  PARENTS_MISSING: row(
    EXIT.streamsFailed,
    "{stream}: nothing could be read, because the mirror knows no {parents} yet.",
    "Read the accounts as well: `duckmirror sync {stream} --with-parents`. To read companies without accounts, follow them: `duckmirror follow`.",
  ),
  TIER_LOWERED: row(
    EXIT.streamsFailed,
    "{stream}: the service now returns an empty list, the mirror holds {rows:row}. Nothing was deleted.",
    "An organization without Full Access gets empty lists. If the rows are really gone, run `duckmirror sync {stream} --full --allow-mass-delete`.",
  ),
  MASS_DELETE_REFUSED: row(
    EXIT.streamsFailed,
    "{stream}: the service no longer returns {missing} of {rows:row}, more than the setting `max_delete_share` allows to delete at once. Nothing was deleted.",
    "If these rows are really gone, run `duckmirror sync {stream} --full --allow-mass-delete`.",
  ),
  DELETE_PROBE_FAILED: row(
    EXIT.streamsFailed,
    "{stream}: the list no longer returns a row, but the service still returns it by its id. Nothing was deleted.",
    "The next sync reads the list again. If it lacks these rows again, they were archived or merged and move to history. If every sync ends like this, the service lists fewer rows than it has: the mirror keeps the rows it knows, and other rows may be missing.",
  ),
  CHECK_FAILED: row(
    EXIT.streamsFailed,
    "Rows fail a check, so the present snapshot stays: {checks}.",
    "What was fetched is committed and not published. `duckmirror check-data` shows the rows. Correct the check or its rows; the next sync publishes what passes.",
  ),
  CHECK_BROKEN: row(
    EXIT.streamsFailed,
    "Checks could not run: {checks} ({detail}).",
    "They kept nothing from the snapshot. Correct the files of these names in the folder of the setting `checks`; `duckmirror check-data` tries them.",
  ),
  CHECKS_MISSING: row(
    EXIT.usage,
    "No checks are configured.",
    "Set `checks` in duckmirror.yaml to a folder of .sql files; `duckmirror check-data --init FOLDER` writes some to begin with.",
  ),
  VERIFY_DIFFERS: row(
    EXIT.streamsFailed,
    "The mirror differs from the service in {count:place} that no later change of the service explains{repaired}.",
    "`duckmirror verify --repair` corrects the differences listed here. Those marked as newer are changes since the last sync, which the next one loads.",
  ),
  WALK_INCONCLUSIVE: row(
    EXIT.streamsFailed,
    "{stream}: the list does not add up: it returned {seen:distinct row}, and its totalCount is {total}. Rows were written, none deleted.",
    "The list probably changed while it was read. The next sync reads it again.",
  ),
  REQUEST_FAILED: row(
    EXIT.streamsFailed,
    "{endpoint} failed: {detail}",
    "The rest of the mirror is committed. Run sync again to retry; `duckmirror check` tests the connection. If the service fails at large pages, the next sync asks for smaller ones.",
  ),
  LIST_TOO_DEEP: row(
    EXIT.streamsFailed,
    "The service refuses {endpoint}, so it returns only {reached} of {total:row} of this list: {detail}",
    "The mirror holds the rows that the service returned, and each sync reads changes. Later syncs read the rest in parts, if its dates allow that; else other rows are missing until they change, and deleted rows stay. If you need fewer rows, the setting `scope` makes the list shorter, so that the service may return all of it.",
  ),
  ROUTE_NOT_FOUND: row(
    EXIT.streamsFailed,
    "{endpoint} was not found: {detail}",
    "Check `base_url` (DUCKMIRROR_BASE_URL): the address of the service without `/v1`. If it is right, something else answers in place of the service (try again later), or the service lacks this route (leave its stream out of the setting `streams`). Nothing was deleted.",
  ),
  ROUTE_MISSING: row(
    EXIT.streamsFailed,
    "{endpoint} was not found, although the service answers other requests: {detail}",
    "The service may lack this route. If it stays so, leave its stream out of the setting `streams` (DUCKMIRROR_STREAMS). Nothing was deleted.",
  ),
  REDIRECTED: row(
    EXIT.streamsFailed,
    "{endpoint} was redirected: {detail}",
    "No redirect is followed, so that the token goes nowhere else. If the service has moved, set `base_url` (DUCKMIRROR_BASE_URL) to its new address without `/v1`.",
  ),
  RATE_REFUSED: row(
    EXIT.streamsFailed,
    "The service refuses requests{how}: {detail}",
    "The mirror is consistent. The credits may be used up, or another program uses up the rate limit of the same token. Sync again later.",
  ),
  RESPONSE_INVALID: row(
    EXIT.streamsFailed,
    "{endpoint} answered with something other than the documented JSON: {detail}",
    "The archive keeps the answer. Check that `base_url` is the address of the service, not of a proxy or login page. The next sync tries once more; if that fails, syncs try less and less often.",
  ),
  ANSWERS_UNUSABLE: row(
    EXIT.streamsFailed,
    "{stream}: {count:request} were refused, or answered with what cannot be used. Syncs ask again after {until}.",
    "All else was read. The archive keeps the answers. Check the token's rights and `base_url`, or report the fault to the operator of the service. `duckmirror sync {stream}` asks at once.",
  ),
  RESPONSE_TOO_LARGE: row(
    EXIT.streamsFailed,
    "{endpoint} answered with more than {limit:byte}, or with more values than `memory` allows.",
    "Raise the setting `max_body_bytes` or `memory`, or lower `max_page_size`, then run sync again.",
  ),
  SERVICE_UNREACHABLE: row(
    EXIT.streamsFailed,
    "{endpoint} could not be reached: {detail}",
    "Check the address, DNS, proxy settings (HTTPS_PROXY) and that the service is up.",
  ),
  CERTIFICATE_REFUSED: row(
    EXIT.streamsFailed,
    "{endpoint} was not requested, because the certificate of the server is not trusted: {detail}",
    "Nothing was sent, not even the token. If your company's own authority signed the certificate, set NODE_EXTRA_CA_CERTS to the authority's file (PEM). Otherwise check `base_url`, the proxy and the clock of this machine.",
  ),
  SERVICE_FAILING: row(
    EXIT.streamsFailed,
    "The service answers no request as documented any more, so the run ended early: {detail}",
    "The mirror is consistent, and what was fetched is committed. The next sync continues from here; `duckmirror check` tests the connection.",
  ),
  WRITER_BUSY: row(
    EXIT.writerBusy,
    "Another duckmirror process writes to {dir}.",
    "Wait for it to end, or use another --data-dir. The snapshot can be read at any time.",
  ),
  WAREHOUSE_NEWER: row(
    EXIT.usage,
    "The warehouse {file} was written by a newer duckmirror (schema {found}, this program knows {known}).",
    "Upgrade duckmirror, or use another --data-dir.",
  ),
  MIGRATION_CHANGED: row(
    EXIT.usage,
    "Migration {name} differs from the one this warehouse was built with.",
    "Install an unmodified duckmirror, or rebuild the warehouse with `duckmirror replay`.",
  ),
  WAREHOUSE_CORRUPT: row(
    EXIT.unexpected,
    "The working database {file} cannot be read: {detail}",
    "`duckmirror replay` rebuilds it from the archive, without a request.",
  ),
  SNAPSHOT_DAMAGED: row(
    EXIT.unexpected,
    "The snapshot {file} cannot be read: {detail}",
    "`duckmirror sync` publishes a new one. If the sync fails, too, `duckmirror replay` rebuilds the working database and the snapshot from the archive, without a request.",
  ),
  MIRROR_GONE: row(
    EXIT.unexpected,
    "The mirror in {dir} is gone. This worker has seen it there before.",
    "Bring the directory back: mount its volume, or restore a backup (`duckmirror restore`). The next sync continues from what is there. To pay for a new first mirror instead, start the worker again, or run `duckmirror sync`.",
  ),
  WAREHOUSE_BEHIND: row(
    EXIT.unexpected,
    "The working database {file} is older than its archive: it holds {applied:change}, the archive {announced}.",
    "`duckmirror replay` rebuilds it from the archive, without a request. To pay for a new first mirror instead, move the data directory away and run `duckmirror sync`.",
  ),
  ARCHIVE_INCOMPLETE: row(
    EXIT.unexpected,
    "The archive does not hold everything that was mirrored: {detail}.",
    "Nothing was changed. `duckmirror replay --partial` rebuilds what the archive holds. The next sync then reads every list completely.",
  ),
  BASELINE_DAMAGED: row(
    EXIT.unexpected,
    "The baseline {file} cannot be used: {detail}.",
    "The mirror itself is not affected: the next `duckmirror sync` makes a new baseline when it needs one. If the working file is lost, too, restore a backup (`duckmirror restore`), or rebuild what the archive holds: `duckmirror replay --partial`.",
  ),
  BACKUP_MISSING: row(
    EXIT.usage,
    "There is no backup in {place}: it holds no backup.json.",
    "Name the folder or address that `duckmirror backup` wrote; one that was killed may have left a whole backup under that name with .new at its end. Nothing was changed.",
  ),
  BACKUP_DAMAGED: row(
    EXIT.unexpected,
    "The backup {file} cannot be used: {detail}.",
    "Nothing was changed. Restore another backup, or copy this one again from where it came from.",
  ),
  BACKUP_UNPROVEN: row(
    EXIT.usage,
    "The backup in {place} is not proven to be genuine: {detail}.",
    "Name the key that signed it with --backup-key FILE: it is state/backup.key of the mirror that was backed up. Without the key, --trust believes whoever may write to that place: its digests still show damage, and its views are still read in the box first, but its rows may be anybody's. Nothing was changed.",
  ),
  BACKUP_REFUSED: row(
    EXIT.usage,
    "{dir} is not empty, and a backup needs a folder of its own.",
    "Name a folder that is empty or does not exist. --force replaces an earlier backup, but no other files.",
  ),
  BACKUP_PLACE_FAILED: row(
    EXIT.streamsFailed,
    "{place} cannot be used: {detail}",
    "What is stored there was not changed. Check a folder's permissions. For object storage check the address, the credentials (as the tools of AWS or Azure find them), --region, --account, --endpoint and the network. Then run the command again.",
  ),
  HOME_TAKEN: row(
    EXIT.writerBusy,
    "Another worker has the mirror of {url} now: its fence is {found}, the one here is {own}.",
    "Nothing was published since, and the home is as the other worker left it. The next sync here brings its state first; what this one fetched is paid for again.",
  ),
  HOME_FAILED: row(
    EXIT.streamsFailed,
    "The home {url} cannot be used: {detail}",
    "The mirror here is consistent, and nothing was published that the home lacks. Check address, credentials and network; the next sync goes on where this one ended.",
  ),
  HOME_DAMAGED: row(
    EXIT.unexpected,
    "The home {url} cannot be read: {detail}",
    "The mirror here was left as it is. Put back earlier versions of the home's objects if your storage keeps them, or restore a backup. To begin anew from a worker that has the whole mirror, remove the home's objects and sync there.",
  ),
  HOME_OTHER_MIRROR: row(
    EXIT.usage,
    "The home {url} holds the mirror {found}, and the data directory {own}. Both were left as they are.",
    "Each mirror needs a home of its own. Correct `home`, or name an empty --data-dir to go on with the mirror of the home.",
  ),
  HOME_OTHER_STATE: row(
    EXIT.usage,
    "The data directory {dir} holds what the home {url} lacks, and the home holds another state. Both were left as they are.",
    "A restored mirror, one that was synced without the home, and one whose last state is in another home do not mix. To go on with the state of the home, name an empty --data-dir. To put what is here in its place, stop the other workers, remove the home's objects, and sync here first.",
  ),
  RESTORE_REFUSED: row(
    EXIT.usage,
    "{dir} holds a mirror already, and a restore overwrites nothing.",
    "Name an empty folder with --data-dir, or move this one away first.",
  ),
  SNAPSHOT_MISSING: row(
    EXIT.usage,
    "There is no snapshot at {file} yet.",
    "Run `duckmirror sync` first, or `duckmirror demo` to try it out.",
  ),
  SNAPSHOT_GONE: row(
    EXIT.usage,
    "There is no {what}: {kept}.",
    "`GET /snapshots` lists what can be read; `keep_snapshots` says how many stay, and for how long.",
  ),
  TOO_MANY_BYTES: row(
    EXIT.usage,
    "This reader got its bytes of this minute.",
    "Ask again after the seconds of `Retry-After`. The setting `snapshot_bytes_per_minute` is the limit.",
  ),
  CHANGES_GONE: row(
    EXIT.usage,
    "Some changes after {after} are no longer kept: those up to {gone_to} are gone.",
    "Read the tables as they are now, then continue with the changes after {last}. `history_retention_days` says how long changes are kept.",
  ),
  CHANGES_AHEAD: row(
    EXIT.usage,
    "There is no change {after} yet: the last one is {last}.",
    "The cursor may be of another mirror, or of a snapshot that was replaced by an older one. Read the tables again and continue after {last}.",
  ),
  QUERY_FAILED: row(EXIT.usage, "The query failed: {detail}", '`duckmirror query "show tables"` lists what is there.'),
  EXPORT_FOLDER: row(
    EXIT.usage,
    "The folder {dir} cannot take this export: {detail}.",
    "Give another folder with --dir. Each format needs a folder of its own, and so does an export with --since.",
  ),
  FORGET_UNFINISHED: row(
    EXIT.unexpected,
    "Erasing {contacts:contact} was begun and not finished.",
    "Run `duckmirror forget --resume`. Until then no other command writes to the mirror. The snapshot stays readable.",
  ),
  FORGET_INCOMPLETE: row(
    EXIT.unexpected,
    "Traces of an erased contact are left: {detail}.",
    "Run `duckmirror forget --resume`. If traces are still left, remove the files named above.",
  ),
  FORGOTTEN_UNREADABLE: row(
    EXIT.unexpected,
    "The list of erased contacts cannot be read: {detail}",
    "Bring back state/forget.key and state/archive/forgotten.json, which belong together, from a backup: without them a sync would store erased people again. If nobody was erased, remove state/forget.key. Nothing was changed.",
  ),
  CONTACT_UNKNOWN: row(
    EXIT.usage,
    "No mirrored contact has the e-mail address that was given.",
    "Give the contact's id instead. Syncs then never store the contact, even if it is not mirrored yet.",
  ),
  CONTACT_AMBIGUOUS: row(
    EXIT.usage,
    "{count} contacts have that e-mail address: {ids}.",
    "Give one of the ids, or --all to erase all of them.",
  ),
  COMPANY_UNKNOWN: row(
    EXIT.streamsFailed,
    "The service knows no company for {input}.",
    "Nothing was charged. Try the company's domain, or the address of its profile page.",
  ),
  ACCOUNT_UNKNOWN: row(
    EXIT.streamsFailed,
    "No tracked account matches {input}.",
    "`lookup account` finds tracked accounts only; `duckmirror lookup company` finds any company. Without Full Access no account is visible.",
  ),
  ACCOUNT_AMBIGUOUS: row(
    EXIT.streamsFailed,
    "{count:account} match {input}.",
    "Run `duckmirror lookup account` with the domain of the account you mean; the best match is listed first.",
  ),
  SCHEMA_FROZEN: row(
    EXIT.streamsFailed,
    "{stream}: a record does not fit the frozen table {table} ({detail}). Nothing of that response was loaded.",
    "The response is kept in the archive. Upgrade duckmirror, or set `strictness` of the table to evolve or reject. Then run sync again.",
  ),
  DISK_FULL: row(
    EXIT.unexpected,
    "The disk is full: {detail}",
    "Free some space, or raise the limit that a file reached (`ulimit -f`), and run the command again. Nothing that was stored is lost.",
  ),
  NO_MEMORY: row(
    EXIT.unexpected,
    "DuckDB needs more memory than it may take: {detail}",
    "The mirror is consistent. Set `memory` (DUCKMIRROR_MEMORY) to more, e.g. 4GiB or 50%, and run the command again.",
  ),
  DATA_DIR_NAME: row(
    EXIT.usage,
    "The path of the data directory, {dir}, holds a question mark.",
    "DuckDB takes what follows a ? for no part of the path, and would write the mirror's log to another file. Name a folder whose path has no such character: the setting `data_dir`, or --data-dir.",
  ),
  DATA_DIR_UNWRITABLE: row(
    EXIT.usage,
    "The folder {dir} cannot be written: {detail}",
    "Check its path and permissions, or name another folder: --data-dir, and --dir for an export.",
  ),
  LOCK_DAMAGED: row(
    EXIT.unexpected,
    "The lock file {file} cannot be read.",
    "It holds no data. If no duckmirror process writes here, remove this file and run the command again.",
  ),
  STATE_FILE_DAMAGED: row(
    EXIT.usage,
    "{file} holds no {holds} that this version reads.",
    "Restore the file from a backup, or move it away: {without}.",
  ),
  FILE_REFUSED: row(
    EXIT.usage,
    "The system refuses access to a file: {detail}",
    "Check that everything above it is a folder, the owner and permissions of the file and of these folders, and, on Windows, which program has it open. Nothing that was stored is lost.",
  ),
  AUDIT_UNWRITABLE: row(
    EXIT.usage,
    "The audit trail in {dir} cannot be written: {detail}",
    "Check the folder's permissions and free space. With `audit_required: false`, commands run without being recorded.",
  ),
  SERVER_KEY_MISSING: row(
    EXIT.usage,
    "{listen} can be reached from other machines, and no key protects it.",
    "Make one with `duckmirror key add NAME --role read`, or set DUCKMIRROR_SERVER_KEY_FILE (or `server_key_file`) to a file with a key, e.g. from `openssl rand -hex 32`, or listen on 127.0.0.1.",
  ),
  LISTEN_FAILED: row(
    EXIT.usage,
    "The server cannot listen on {listen}: {detail}",
    "Another program may use the port: choose one with --listen 127.0.0.1:8738, or any free one with --listen 127.0.0.1:0.",
  ),
  SYNCS_NOT_STARTED_HERE: row(
    EXIT.usage,
    "This server reads the mirror and starts no syncs.",
    "`duckmirror worker` serves the same page and starts them; or run `duckmirror sync` where the data directory is.",
  ),
  QUERY_LIMIT: row(
    EXIT.usage,
    "The query was stopped: {detail}.",
    "Read less in one query, or allow it more time and memory: `duckmirror query --timeout 1h --memory 8GiB`.",
  ),
  CATALOG_REFUSED: row(
    EXIT.usage,
    "{file} holds what duckmirror does not make: {detail}.",
    "SQL in a view, macro or default runs when the file is read, with your rights. Take a backup or snapshot that you trust, and keep others from writing to the data directory. If another version of duckmirror published the file, publish it again with this one (`duckmirror sync`).",
  ),
  SQL_REFUSED: row(
    EXIT.usage,
    "The statement is refused: {detail}.",
    "See docs/SERVER.md for the SQL that may run here. The owner of the mirror runs any with `duckmirror query`.",
  ),
  USER_SQL_OFF: row(
    EXIT.usage,
    "SQL of users is switched off here.",
    "The setting `user_sql` is `off`. The owner of the mirror may still run `duckmirror query`.",
  ),
  USER_SQL_NO_BOX: row(
    EXIT.usage,
    "This system offers no box for SQL of users, so it is refused: {detail}.",
    "A box needs Linux 5.13 or later with Landlock, on x64 or arm64 (SECURITY.md). `user_sql: trusted` runs such SQL without one, with every right of this user. The owner of the mirror may run `duckmirror query`.",
  ),
  REDIS_UNAVAILABLE: row(
    EXIT.streamsFailed,
    "Redis at {address} does not answer: {detail}",
    "Redis holds the rate limit and the reserved credits, so duckmirror sends nothing without it. Everything fetched so far is kept. Check REDIS_URL and the Redis server, then run the command again.",
  ),
  REDIS_REFUSED: row(
    EXIT.usage,
    "Redis at {address} refuses duckmirror: {detail}",
    'Check user and password in REDIS_URL (`redis://USER:PASSWORD@HOST:PORT`), and the user\'s rights: docs/WORKER.md, "Redis", lists those that are needed.',
  ),
  REDIS_FULL: row(
    EXIT.streamsFailed,
    "Redis at {address} has no memory left: {detail}",
    "Raise Redis's maxmemory, or wait until the workers have taken what is queued. The mirror is consistent; the next sync continues from here.",
  ),
  REDIS_EVICTS: row(
    EXIT.usage,
    "Redis at {address} may evict keys: its maxmemory-policy is {policy}.",
    "Set `maxmemory-policy noeviction`: queued work, rate limit and reserved credits must not vanish. If this Redis is also a cache, give duckmirror a Redis of its own.",
  ),
  REDIS_TOO_OLD: row(EXIT.usage, "Redis at {address} is version {version}.", "Use Redis 6.2 or newer, or Valkey."),
  REDIS_REPLICA: row(EXIT.usage, "Redis at {address} is a read-only replica.", "Set REDIS_URL to the primary server."),
  JOB_VERSION: row(
    EXIT.unexpected,
    "The queued job {job} has payload version {found}; this program reads version {known}.",
    "It is kept: run `duckmirror jobs --retry {job}` with the version of duckmirror that queued it, or a newer one.",
  ),
  ROLE_REMOVED: row(
    EXIT.usage,
    "--role {role}: workers have no roles; each one takes whole syncs.",
    "Run `duckmirror worker` without --role, where the mirror of its organizations is. Workers with the same REDIS_URL share queues, rate limits and credits.",
  ),
  WORKER_UNREACHABLE: row(
    EXIT.streamsFailed,
    "No worker answers at {address}: {detail}",
    "Start `duckmirror worker`, and check the setting `listen`. If the worker uses Redis, set the same REDIS_URL here. `duckmirror sync` needs no worker.",
  ),
  WORKER_REFUSED: row(
    EXIT.credentials,
    "The worker at {address} refuses the server key: {detail}",
    "Set DUCKMIRROR_SERVER_KEY_FILE (or DUCKMIRROR_SERVER_KEY) to a key of the worker: `jobs` needs the role read, `trigger` and `jobs --cancel` the role operate. `duckmirror key add NAME --role operate` makes one beside the worker.",
  ),
  IDEMPOTENCY_REUSED: row(
    EXIT.usage,
    "The idempotency key already names the sync {run}, which was asked for with other streams, or another `full`, `reset`, `since` or `timeout`.",
    "Repeat the first request as it was, or use a new key. A key is remembered for a day.",
  ),
  DESTINATIONS_MISSING: row(
    EXIT.usage,
    "No destination is configured.",
    "Add the section `destinations` to duckmirror.yaml; docs/DESTINATIONS.md shows one of each kind.",
  ),
  DESTINATION_UNKNOWN: row(
    EXIT.usage,
    "There is no destination {name}; configured: {names}.",
    "Name one of them. Without a name, duckmirror delivers to all.",
  ),
  DESTINATION_OTHER_MIRROR: row(
    EXIT.usage,
    "The destination {name} holds another history than this mirror: {detail}. It was left as it is.",
    "Check its address. If this mirror is to replace what is there, run `duckmirror deliver {name} --take-over`.",
  ),
  DESTINATION_AHEAD: row(
    EXIT.usage,
    "The destination {name} holds change {found}, but the last change of this mirror is {last}. It was left as it is.",
    "The mirror was probably restored from an older copy. If you want to continue with it, run `duckmirror deliver {name} --take-over`.",
  ),
  DESTINATION_AWAY: row(
    EXIT.streamsFailed,
    "The destination {name} cannot be reached: {detail}",
    "Nothing is lost: the next delivery brings everything since the last one. Check address, credentials and network.",
  ),
  DESTINATION_FAILED: row(
    EXIT.streamsFailed,
    "The destination {name} refused the delivery: {detail}",
    "It holds what it held before. Correct the cause; the next delivery brings everything since the last one.",
  ),
  DESTINATION_PACKAGE_MISSING: row(
    EXIT.usage,
    "The destination {name} is of kind {kind}, which needs the packages {packages}.",
    "Install them beside duckmirror: `npm install {packages}`.",
  ),
  DESTINATION_REFUSED: row(
    EXIT.credentials,
    "The destination {name} refuses the credentials: {detail}",
    "Check the credentials and their permissions; docs/DESTINATIONS.md lists those that are needed. Nothing is lost: the next delivery brings everything since the last one.",
  ),
  DESTINATION_OVERTAKEN: row(
    EXIT.streamsFailed,
    "Another delivery to {name} ended while this one was under way. What it brought is complete and was left as it is.",
    "Let one mirror deliver to one place. The next delivery continues from what is there.",
  ),
  DESTINATION_UNCONDITIONAL: row(
    EXIT.usage,
    "The destination {name} ignores the conditions of a write (If-Match, If-None-Match), so two simultaneous deliveries could mix their files.",
    "Use a storage service, or a newer version of this one, that supports conditional writes; or deliver to a folder.",
  ),
  EXTENSION_CLIENT_MISSING: row(
    EXIT.usage,
    "A destination of kind `ducklake` needs a DuckDB client that loads extensions, and it is not installed.",
    "Install it beside duckmirror: `npm install {packages}` (68 MB; docs/decisions/lakes.md says why it is a second one).",
  ),
  EXTENSION_MISSING: row(
    EXIT.usage,
    "DuckDB's extension {extension} cannot be loaded: {detail}",
    "With internet DuckDB installs it itself. Without: `pip download --no-deps duckdb-extension-{extension}==1.5.5` on another machine, unzip the wheel, and put {file} into the destination's `extension_directory`.",
  ),
  DESTINATIONS_FAILED: row(
    EXIT.streamsFailed,
    "Some destinations were not brought up to date: {names}.",
    "The other destinations are up to date. Each failed one holds what it held before. Correct the causes named above, then run `duckmirror deliver` again.",
  ),
  ALERTS_MISSING: row(
    EXIT.usage,
    "No alert rule is configured.",
    "Add the section `alerts` to duckmirror.yaml; docs/ALERTS.md shows rules to begin with.",
  ),
  ALERT_UNKNOWN: row(
    EXIT.usage,
    "There is no alert rule {name}; configured: {names}.",
    "Name one of them; `duckmirror alerts list` shows them.",
  ),
  ALERT_BUSY: row(
    EXIT.writerBusy,
    "Another process is sending the alerts of {name}.",
    "It is probably the worker. Wait a moment and try again.",
  ),
  ALERT_UNDELIVERED: row(
    EXIT.streamsFailed,
    "The receiver of {name} did not take a message: {detail}",
    "The next pass sends a waiting message again. `duckmirror alerts list` also shows the messages that it gave up. When the cause is mended, `duckmirror alerts replay {name}` sends all of them at once.",
  ),
  ALERT_TEST_UNDELIVERED: row(
    EXIT.streamsFailed,
    "The receiver of {name} did not take the test message: {detail}",
    "Correct what the message names, then run `duckmirror alerts test {name}` again. A test message is not kept.",
  ),
  ALERT_OFF: row(
    EXIT.streamsFailed,
    "The receiver of {name} answered 410 (Gone) at {at}, so the rule is off. Its messages are kept.",
    "Correct its address, then run `duckmirror alerts replay {name}`.",
  ),
  ALERTS_FAILED: row(
    EXIT.streamsFailed,
    "Some alert rules could not be evaluated, or their messages were not taken: {names}.",
    "Nothing is lost; the next pass tries again. `duckmirror alerts list` shows why.",
  ),
  ALERTS_DAMAGED: row(
    EXIT.unexpected,
    "The file {file} of an alert rule cannot be read: {detail}",
    "Move the rule's folder away. The rule then begins with the next change, and messages that waited are not sent.",
  ),
  RUN_UNKNOWN: row(
    EXIT.usage,
    "No sync {run} is known.",
    "`duckmirror status` lists the last runs, `duckmirror jobs` what is queued or under way.",
  ),
  VERIFY_LOST: row(
    EXIT.unexpected,
    "The verification {run} was given up, because its worker ended {times} times before it was complete.",
    "It changed nothing. Find out in the workers' logs why they end, then start the verification again.",
  ),
  WAIT_SPENT: row(
    EXIT.budget,
    "The sync {run} had not ended within --timeout.",
    "The sync may still be running, because others requested it with more time; or no worker could end it. `duckmirror jobs` shows it, `duckmirror jobs --cancel {run}` ends it.",
  ),
  INTERRUPTED: row(
    EXIT.interrupted,
    "Interrupted. Everything fetched so far is committed.",
    "Run the command again; a sync continues from here.",
  ),
  REPLAY_INTERRUPTED: row(
    EXIT.interrupted,
    "The replay was interrupted. The mirror is as it was.",
    "Run `duckmirror replay` again; it begins anew.",
  ),
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERRORS;
type ErrorContext = Readonly<Record<string, string | number | undefined>>;

const fill = (template: string, context: ErrorContext) =>
  template.replace(/\{(\w+)(?::([\w ]+))?\}/g, (_, name: string, word?: string) => {
    const value = context[name] ?? "";
    if (word === undefined) return String(value);
    return typeof value === "number" ? counted(value, word) : `${value} ${word}s`;
  });

/** Message and hint as sentences of one line: a message may end in a word of the system, without a full stop. */
export const withHint = ({ message, hint }: { readonly message: string; readonly hint: string }): string =>
  `${message}${/[.!?]["')`\]]?$/.test(message) ? "" : "."} ${hint}`.trimEnd();

/** A failure with code, message, hint and exit code. Never contains a token. */
export class DuckmirrorError extends Error {
  readonly code: ErrorCode;
  readonly hint: string;
  readonly exitCode: number;
  readonly context: ErrorContext;

  constructor(code: ErrorCode, context: ErrorContext & { cause?: never } = {}, options: { cause?: unknown } = {}) {
    super(fill(ERRORS[code].message, context), options);
    this.name = "DuckmirrorError";
    this.code = code;
    this.context = context;
    this.hint = fill(ERRORS[code].hint, context);
    this.exitCode = ERRORS[code].exit;
  }
}

/** True for a failure of the given code. */
export const isCode = (error: unknown, code: ErrorCode): error is DuckmirrorError =>
  error instanceof DuckmirrorError && error.code === code;

/** True for an error of the system with one of these codes, such as ENOENT. */
export const hasSystemCode = (error: unknown, ...codes: readonly string[]): boolean =>
  error instanceof Error && "code" in error && codes.includes(String(error.code));

/** The message of any thrown value, for a `detail`. */
export const detailOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
