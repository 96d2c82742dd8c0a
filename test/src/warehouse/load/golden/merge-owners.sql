CREATE OR REPLACE TEMP TABLE stage ("id" VARCHAR,
  "data" JSON,
  _extra JSON,
  _kept BIGINT,
  _partial BOOLEAN,
  _load INTEGER,
  _received TIMESTAMPTZ,
  _row INTEGER);

SELECT 1 AS present FROM main."owners" LIMIT 1 OFFSET 4096;

CREATE OR REPLACE TEMP TABLE found AS SELECT t.rowid AS _old FROM main."owners" AS t JOIN stage AS s ON t."id" = s."id";

CREATE OR REPLACE TEMP TABLE old AS SELECT t.*,
  t.rowid AS _old FROM main."owners" AS t JOIN stage AS s ON t."id" = s."id";

CREATE OR REPLACE TEMP TABLE old AS SELECT t.*,
  t.rowid AS _old FROM main."owners" AS t JOIN found AS f ON t.rowid = f._old WHERE t.rowid BETWEEN 0 AND 9 UNION ALL SELECT t.*,
  t.rowid AS _old FROM main."owners" AS t JOIN found AS f ON t.rowid = f._old WHERE t.rowid BETWEEN 90000 AND 90005;

CREATE OR REPLACE TEMP TABLE old AS SELECT t.*,
  t.rowid AS _old FROM main."owners" AS t LIMIT 0;

CREATE OR REPLACE TEMP TABLE changed AS SELECT s."id",
  CASE WHEN s._kept & 2 <> 0 THEN o."data" ELSE s."data" END AS "data",
  o._first_synced_at,
  greatest(s._received,
  o._synced_at + INTERVAL 1 MICROSECOND,
  now()) AS _received,
  s._extra,
  s._load,
  o._old,
  NOT (false) AS _only_json FROM stage AS s JOIN old AS o ON s."id" = o."id" WHERE false OR (s._kept & 2 = 0 AND s."data" IS DISTINCT FROM o."data") OR s._extra IS DISTINCT FROM o._extra;

SELECT s._row AS row,
  o._extra AS extra FROM stage AS s JOIN old AS o ON s."id" = o."id" WHERE s._partial AND o._extra IS NOT NULL AND s._extra IS DISTINCT FROM o._extra;

SELECT s._load AS load,
  count(*) AS rows FROM stage AS s ANTI JOIN old AS o ON s."id" = o."id" GROUP BY ALL;

SELECT _load AS load,
  count(*) AS rows FROM changed GROUP BY ALL;

SELECT c._old AS row,
  [CAST(c."data" AS VARCHAR),
  CAST(c._extra AS VARCHAR)] AS fresh,
  [CAST(o."data" AS VARCHAR),
  CAST(o._extra AS VARCHAR)] AS stored FROM changed AS c JOIN old AS o ON c._old = o._old WHERE c._only_json AND length(CAST(c."data" AS VARCHAR)) IS NOT DISTINCT FROM length(CAST(o."data" AS VARCHAR)) AND length(CAST(c._extra AS VARCHAR)) IS NOT DISTINCT FROM length(CAST(o._extra AS VARCHAR));

INSERT INTO history."owners" ("id",
  "data",
  _first_synced_at,
  _synced_at,
  _run_id,
  _extra,
  valid_from,
  valid_to,
  change,
  change_n) SELECT o."id",
  o."data",
  o._first_synced_at,
  o._synced_at,
  o._run_id,
  o._extra,
  o._synced_at,
  c._received,
  'update',
  7 FROM old AS o JOIN changed AS c ON c._old = o._old;

(SELECT s."id" FROM stage AS s ANTI JOIN old AS o ON s."id" = o."id");

DELETE FROM main."owners" AS t USING changed AS c WHERE t."id" = c."id";

DELETE FROM main."owners" WHERE rowid IN (SELECT _old FROM changed);

INSERT INTO main."owners" ("id",
  "data",
  _first_synced_at,
  _synced_at,
  _run_id,
  _extra) SELECT "id",
  "data",
  _first_synced_at,
  _received,
  ?,
  _extra FROM changed;

INSERT INTO main."owners" ("id",
  "data",
  _first_synced_at,
  _synced_at,
  _run_id,
  _extra) SELECT s."id",
  s."data",
  s._received,
  greatest(s._received,
  now()),
  ?,
  s._extra FROM stage AS s ANTI JOIN old AS o ON s."id" = o."id";
