"""dlt's REST API source into DuckDB.

Settings come from .dlt/config.toml and from the environment: PEER_URL, PEER_TOKEN, PEER_DIR (pipeline state and
database), PEER_LISTS ("organization" or "all"), PEER_PAGE (rows per page), PEER_MODE ("incremental" or "replace").

incremental: accounts and signals newest change first, with row_order "desc", so that dlt stops at the first page that
is older than its cursor; contacts by the API's own filter; merged by id.
replace: every page of every list, tables replaced, as dlt advises where a source has no incremental load or deletes
matter.
Company lists have neither filter nor sort: always replaced, as dependent resources, fetched in parallel.
"""

import os

import dlt
from dlt.sources.rest_api import rest_api_source

LISTS = {"accounts": "updatedAt", "contacts": "lastChangeDetectedOn", "signals": "updatedAt"}
COMPANY_LISTS = ("news-articles", "job-openings", "earnings-calls", "filings")


def organization_list(name: str, cursor: str, incremental: bool) -> dict:
    if not incremental:
        # By id: the order that changes least while pages are read.
        endpoint = {"path": name, "params": {"sortBy": "id", "sortOrder": "asc"}}
        return {"name": name, "write_disposition": "replace", "endpoint": endpoint}
    # An hour is read again (dlt: "attribution window"): what changed while the last run paged is older than its cursor.
    settings = {"cursor_path": cursor, "on_cursor_value_missing": "include", "lag": 3600}
    if name == "contacts":
        settings["start_param"] = "lastChangeDetectedAfter"
        # No initial value: the filter would leave out contacts without a date of change.
        endpoint = {"path": name, "params": {}, "incremental": settings}
    else:
        settings["row_order"] = "desc"
        endpoint = {"path": name, "params": {"sortBy": cursor, "sortOrder": "desc"}, "incremental": settings}
    return {"name": name, "write_disposition": "merge", "endpoint": endpoint}


def company_list(path: str) -> dict:
    return {
        "name": path.replace("-", "_"),
        "write_disposition": "replace",
        "parallelized": True,
        "primary_key": ["companyId", "id"],
        "include_from_parent": ["companyId"],
        "processing_steps": [{"map": with_company}],
        "endpoint": {"path": "companies/{resources.tracked_companies.companyId}/" + path},
    }


def with_company(row: dict) -> dict:
    """The parent's id arrives as _tracked_companies_companyId."""
    row["companyId"] = row.pop("_tracked_companies_companyId")
    return row


def source(lists: str, incremental: bool):
    resources = [organization_list(name, cursor, incremental) for name, cursor in LISTS.items()]
    if lists == "all":
        # An incremental parent yields changed accounts only, and the lists of the others would go stale: the parent is
        # a resource of its own that reads nothing but the company ids.
        params = {"sortBy": "id", "sortOrder": "asc", "onlyWithFields": "id,companyId"}
        resources.append(
            {
                "name": "tracked_companies",
                "selected": False,
                "processing_steps": [{"filter": lambda row: row.get("companyId") is not None}],
                "endpoint": {"path": "accounts", "params": params},
            }
        )
        resources += [company_list(path) for path in COMPANY_LISTS]
    return rest_api_source(
        {
            "client": {
                "base_url": os.environ["PEER_URL"] + "/v1/",
                "auth": {"type": "bearer", "token": os.environ["PEER_TOKEN"]},
                "paginator": {
                    "type": "page_number",
                    "base_page": 1,
                    "page_param": "page",
                    "total_path": "meta.totalPages",
                },
            },
            "resource_defaults": {
                "primary_key": "id",
                "max_table_nesting": 0,
                "parallelized": True,
                "endpoint": {"data_selector": "data", "params": {"perPage": int(os.environ["PEER_PAGE"])}},
            },
            "resources": resources,
        },
        name="mirror",
        max_table_nesting=0,
        parallelized=True,
    )


if __name__ == "__main__":
    directory = os.environ["PEER_DIR"]
    pipeline = dlt.pipeline(
        pipeline_name="peer",
        pipelines_dir=os.path.join(directory, "pipelines"),
        destination=dlt.destinations.duckdb(os.path.join(directory, "peer.duckdb")),
        dataset_name="mirror",
    )
    incremental = os.environ.get("PEER_MODE", "incremental") == "incremental"
    file_format = os.environ.get("PEER_FORMAT") or None
    print(pipeline.run(source(os.environ["PEER_LISTS"], incremental), loader_file_format=file_format))
