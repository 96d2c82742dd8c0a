"""Mirrors the API into DuckDB with requests and duckdb: what a careful engineer writes in an afternoon.

Pages through every list, retries 429 and 5xx as Retry-After says, upserts by id, and remembers a watermark per list:
accounts and signals newest change first until a page is older, contacts by the API's filter. Company lists have neither
filter nor sort and are read whole. An hour before the watermark is read again: what changed while the last run paged may
be older than its watermark. Every page is one transaction; a watermark is set when its list is complete, so a
run that dies starts its list again and doubles nothing.

Environment: PEER_URL, PEER_TOKEN, PEER_DIR, PEER_LISTS ("organization" or "all"), PEER_PAGE.
"""

import json
import os
import time
from datetime import datetime, timedelta

import duckdb
import requests

URL = os.environ["PEER_URL"]
PER_PAGE = int(os.environ["PEER_PAGE"])
ATTEMPTS = 8
OVERLAP = timedelta(hours=1)

TEXT, WHOLE, REAL, TIME, TEXTS = "VARCHAR", "BIGINT", "DOUBLE", "TIMESTAMPTZ", "VARCHAR[]"
COLUMNS = {
    "accounts": {
        "id": WHOLE, "organizationId": TEXT, "companyId": TEXT, "ownerId": TEXT, "createdAt": TIME, "updatedAt": TIME,
        "name": TEXT, "domain": TEXT, "logoUrl": TEXT, "featuredImageUrl": TEXT, "description": TEXT, "industry": TEXT,
        "headquartersLocation": TEXT, "numberOfEmployees": WHOLE, "type": TEXT, "priority": WHOLE, "mainScore": REAL,
        "mainScoreComponents": "JSON", "summary": "JSON", "insights": "JSON", "swotAnalysis": "JSON",
        "threeWhys": "JSON", "valuePyramid": "JSON", "valueProposition": "JSON", "valueHypothesis": "JSON",
        "pointOfView": "JSON", "professionalNetworkUrl": TEXT, "fundingDataUrl": TEXT, "contactDataUrl": TEXT,
        "crmUrl": TEXT, "salesToolUrl": TEXT, "addedOn": TIME, "lastRefreshAt": TIME, "countryCode": TEXT,
    },
    "contacts": {
        "id": TEXT, "organizationId": TEXT, "accountId": WHOLE, "firstName": TEXT, "lastName": TEXT,
        "currentTitle": TEXT, "currentCompanyName": TEXT, "changeType": TEXT, "inCurrentRoleSince": TIME,
        "lastChangeDetectedOn": TIME, "mainScore": REAL, "professionalNetworkUrl": TEXT, "email": TEXT,
        "emailStatus": TEXT, "phone": TEXT, "location": TEXT, "previousTitle": TEXT, "previousCompanyName": TEXT,
        "profilePictureUrl": TEXT, "type": TEXT, "contactRole": TEXT, "personInsights": "JSON",
        "talkingPoints": "JSON", "positionWhenFormerUser": "JSON", "introPaths": TEXTS,
        "matchingTargetKeywords": TEXTS, "matchingTargetJobTitles": TEXTS, "matchingTargetLocations": TEXTS,
        "matchingTargetTechnologies": TEXTS,
    },
    "signals": {
        "id": WHOLE, "organizationId": TEXT, "accountId": WHOLE, "type": TEXT, "subtype": TEXT, "headline": TEXT,
        "description": TEXT, "date": TIME, "sources": TEXTS, "matchingKeywords": TEXTS, "relevance": "JSON",
        "smartSummary": "JSON", "playUrls": "JSON", "slidesUrls": TEXTS, "documentsUrls": TEXTS,
        "clinicalTrialPrimaryCompletionDate": TIME, "clinicalTrialStudyCompletionDate": TIME,
        "clinicalTrialLastKnownStatus": TEXT, "clinicalTrialCollaborators": TEXTS, "createdAt": TIME,
        "updatedAt": TIME,
    },
    "news_articles": {
        "companyId": TEXT, "id": TEXT, "headline": TEXT, "url": TEXT, "datePublished": TIME, "description": TEXT,
        "excerpt": TEXT, "publisher": TEXT, "publisherUrl": TEXT, "featuredImageUrl": TEXT,
    },
    "job_openings": {
        "companyId": TEXT, "id": TEXT, "status": TEXT, "url": TEXT, "title": TEXT, "companyName": TEXT,
        "location": TEXT, "postedOn": TIME, "applicants": TEXT, "seniorityLevel": TEXT, "employmentType": TEXT,
        "jobFunction": TEXT, "industries": TEXT,
    },
    "earnings_calls": {
        "companyId": TEXT, "id": WHOLE, "stockSymbol": TEXT, "year": WHOLE, "quarter": WHOLE, "happenedAt": TIME,
        "audioUrl": TEXT, "reportUrl": TEXT, "presentationUrl": TEXT,
    },
    "filings": {
        "companyId": TEXT, "id": WHOLE, "type": TEXT, "accessionNumber": TEXT, "url": TEXT, "filingDate": TIME,
        "reportDate": TIME, "fiscalYear": WHOLE, "quarter": WHOLE,
    },
}
COMPANY_TABLES = {
    "news-articles": "news_articles",
    "job-openings": "job_openings",
    "earnings-calls": "earnings_calls",
    "filings": "filings",
}
CURSORS = {"accounts": "updatedAt", "signals": "updatedAt", "contacts": "lastChangeDetectedOn"}

session = requests.Session()
session.headers["Authorization"] = "Bearer " + os.environ["PEER_TOKEN"]
database = duckdb.connect(os.path.join(os.environ["PEER_DIR"], "peer.duckdb"))
database.execute("SET TimeZone = 'UTC'")


def get(path: str, params: dict) -> dict:
    for attempt in range(ATTEMPTS):
        try:
            response = session.get(URL + path, params=params, timeout=60)
        except (requests.ConnectionError, requests.Timeout):
            if attempt == ATTEMPTS - 1:
                raise
            time.sleep(min(60, 2**attempt))
            continue
        if response.status_code == 429 or response.status_code >= 500:
            time.sleep(float(response.headers.get("Retry-After", min(60, 2**attempt))))
            continue
        response.raise_for_status()
        return response.json()
    raise RuntimeError(f"{path}: gave up after {ATTEMPTS} attempts")


def pages(path: str, **params):
    page = 1
    while True:
        answer = get(path, {**params, "perPage": PER_PAGE, "page": page})
        yield answer["data"]
        if page >= answer["meta"]["totalPages"]:
            return
        page += 1


def upsert(table: str, rows: list) -> None:
    if not rows:
        return
    columns = COLUMNS[table]
    names = ", ".join(f'"{name}"' for name in columns)
    database.execute(
        f"INSERT OR REPLACE INTO {table} ({names}) SELECT UNNEST(r) FROM (SELECT UNNEST(from_json(?, ?)) AS r)",
        [json.dumps(rows), json.dumps([columns])],
    )


def create_tables() -> None:
    for table, columns in COLUMNS.items():
        fields = ", ".join(f'"{name}" {kind}' for name, kind in columns.items())
        key = '"companyId", "id"' if table in COMPANY_TABLES.values() else '"id"'
        database.execute(f"CREATE TABLE IF NOT EXISTS {table} ({fields}, PRIMARY KEY ({key}))")
    database.execute("CREATE TABLE IF NOT EXISTS watermarks (list VARCHAR PRIMARY KEY, value VARCHAR)")


def earlier(instant: str) -> str:
    """By the overlap; as the API writes instants, so that texts compare as times."""
    moment = datetime.fromisoformat(instant.replace("Z", "+00:00")) - OVERLAP
    return moment.strftime("%Y-%m-%dT%H:%M:%S.000Z")


def sync_list(table: str) -> None:
    cursor = CURSORS[table]
    row = database.execute("SELECT value FROM watermarks WHERE list = ?", [table]).fetchone()
    newest = row[0] if row else ""
    watermark = earlier(newest) if newest else ""
    if table == "contacts":
        params = {"lastChangeDetectedAfter": watermark} if watermark else {}
    else:
        params = {"sortBy": cursor, "sortOrder": "desc"}
    for rows in pages(f"/v1/{table}", **params):
        upsert(table, rows)
        newest = max([newest, *(row[cursor] for row in rows if row.get(cursor))])
        if table != "contacts" and watermark and rows and rows[-1][cursor] <= watermark:
            break
    database.execute("INSERT OR REPLACE INTO watermarks VALUES (?, ?)", [table, newest])


def sync_company_list(company: str, path: str) -> None:
    """The list as it is now: what it no longer holds goes."""
    table = COMPANY_TABLES[path]
    rows = [{**row, "companyId": company} for page in pages(f"/v1/companies/{company}/{path}") for row in page]
    database.begin()
    ids = [row["id"] for row in rows]
    database.execute(f'DELETE FROM {table} WHERE "companyId" = ? AND NOT list_contains(?, "id")', [company, ids])
    upsert(table, rows)
    database.commit()


def sync_companies() -> None:
    found = database.execute('SELECT DISTINCT "companyId" FROM accounts WHERE "companyId" IS NOT NULL').fetchall()
    for (company,) in found:
        for path in COMPANY_TABLES:
            sync_company_list(company, path)


if __name__ == "__main__":
    create_tables()
    for table in CURSORS:
        sync_list(table)
    if os.environ["PEER_LISTS"] == "all":
        sync_companies()
    database.close()
