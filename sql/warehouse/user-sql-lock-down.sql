-- Purpose: lock-down before a user's SQL: it can open, write or list no file (the open snapshot stays readable;
-- spilling ends), use no network, load no extension, change no setting. The locks alone are no sandbox:
-- src/warehouse/user-sql adds a process.
-- Parameters: none. Readers: src/warehouse/user-sql/program.ts.
SET GLOBAL TimeZone = 'UTC';
SET GLOBAL autoload_known_extensions = false;
SET GLOBAL enable_external_access = false;
SET GLOBAL disabled_filesystems = 'LocalFileSystem';
SET GLOBAL lock_configuration = true;
