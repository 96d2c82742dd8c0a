"""A Singer tap of the API, built with the Meltano Singer SDK.

accounts and signals are incremental on updatedAt: the API has no filter for it, so they are read newest change first and
the paginator stops at the first page that ends before the bookmark (as Meltano's own tap-github does). contacts are
incremental on lastChangeDetectedOn with the API's filter. Company lists have neither filter nor sort: full table, as
child streams of tracked_companies, which reads nothing but the company ids of the accounts and is not selected itself.
"""

from __future__ import annotations

from singer_sdk import RESTStream, Tap
from singer_sdk import typing as th
from singer_sdk.authenticators import BearerTokenAuthenticator
from singer_sdk.pagination import BasePageNumberPaginator

TEXT, WHOLE, REAL, TIME = th.StringType, th.IntegerType, th.NumberType, th.DateTimeType
TEXTS, ANY = th.ArrayType(th.StringType), th.ObjectType(additional_properties=True)


FIELDS = {
    "accounts": {
        WHOLE: "id numberOfEmployees priority",
        REAL: "mainScore",
        TIME: "createdAt updatedAt addedOn lastRefreshAt",
        TEXT: "organizationId companyId ownerId name domain logoUrl featuredImageUrl description industry"
        " headquartersLocation type professionalNetworkUrl fundingDataUrl contactDataUrl crmUrl salesToolUrl countryCode",
        ANY: "mainScoreComponents summary insights swotAnalysis threeWhys valuePyramid valueProposition valueHypothesis"
        " pointOfView",
    },
    "contacts": {
        WHOLE: "accountId",
        REAL: "mainScore",
        TIME: "inCurrentRoleSince lastChangeDetectedOn",
        TEXT: "id organizationId firstName lastName currentTitle currentCompanyName changeType professionalNetworkUrl"
        " email emailStatus phone location previousTitle previousCompanyName profilePictureUrl type contactRole",
        ANY: "personInsights talkingPoints positionWhenFormerUser",
        TEXTS: "introPaths matchingTargetKeywords matchingTargetJobTitles matchingTargetLocations"
        " matchingTargetTechnologies",
    },
    "signals": {
        WHOLE: "id accountId",
        TIME: "date createdAt updatedAt clinicalTrialPrimaryCompletionDate clinicalTrialStudyCompletionDate",
        TEXT: "organizationId type subtype headline description clinicalTrialLastKnownStatus",
        TEXTS: "sources matchingKeywords slidesUrls documentsUrls clinicalTrialCollaborators",
        ANY: "relevance smartSummary playUrls",
    },
    "tracked_companies": {WHOLE: "id", TEXT: "companyId"},
    "news_articles": {
        TIME: "datePublished",
        TEXT: "companyId id headline url description excerpt publisher publisherUrl featuredImageUrl",
    },
    "job_openings": {
        TIME: "postedOn",
        TEXT: "companyId id status url title companyName location applicants seniorityLevel employmentType jobFunction"
        " industries",
    },
    "earnings_calls": {
        WHOLE: "id year quarter",
        TIME: "happenedAt",
        TEXT: "companyId stockSymbol audioUrl reportUrl presentationUrl",
    },
    "filings": {
        WHOLE: "id fiscalYear quarter",
        TIME: "filingDate reportDate",
        TEXT: "companyId type accessionNumber url",
    },
}


def schema(name: str) -> dict:
    kinds = FIELDS[name].items()
    return th.PropertiesList(*(th.Property(field, kind) for kind, fields in kinds for field in fields.split())).to_dict()


class Pages(BasePageNumberPaginator):
    """Pages up to meta.totalPages, or up to the first one that ends before the bookmark."""

    def __init__(self, cursor: str | None, bookmark: str | None) -> None:
        super().__init__(1)
        self.cursor, self.bookmark = cursor, bookmark

    def has_more(self, response) -> bool:
        answer = response.json()
        rows = answer["data"]
        if self.bookmark and self.cursor and rows and (rows[-1].get(self.cursor) or "") <= self.bookmark:
            return False
        return answer["meta"]["page"] < answer["meta"]["totalPages"]


class ListStream(RESTStream):
    records_jsonpath = "$.data[*]"
    primary_keys = ("id",)

    @property
    def url_base(self) -> str:
        return self.config["api_url"] + "/v1"

    @property
    def authenticator(self) -> BearerTokenAuthenticator:
        return BearerTokenAuthenticator(token=self.config["token"])

    def backoff_wait_generator(self):
        """Waits as Retry-After says (SDK documentation, custom backoff)."""

        def wait(error) -> float:
            headers = getattr(getattr(error, "response", None), "headers", {})
            return float(headers.get("Retry-After", 2))

        return self.backoff_runtime(value=wait)

    def get_new_paginator(self) -> Pages:
        return Pages(None, None)

    def get_url_params(self, context, next_page_token) -> dict:
        return {"perPage": self.config["per_page"], "page": next_page_token or 1}


class NewestChangeFirst(ListStream):
    replication_key = "updatedAt"

    def get_new_paginator(self) -> Pages:
        return Pages(self.replication_key, self.get_starting_replication_key_value(None))

    def get_url_params(self, context, next_page_token) -> dict:
        order = {"sortBy": self.replication_key, "sortOrder": "desc"}
        return {**super().get_url_params(context, next_page_token), **order}


class Contacts(ListStream):
    replication_key = "lastChangeDetectedOn"

    def get_url_params(self, context, next_page_token) -> dict:
        params = super().get_url_params(context, next_page_token)
        bookmark = self.get_starting_replication_key_value(context)
        return {**params, "lastChangeDetectedAfter": bookmark} if bookmark else params

    def post_process(self, row, context=None) -> dict:
        """The SDK wants its replication key in every record; contacts without a change have none."""
        return {self.replication_key: None, **row}


class TrackedCompanies(ListStream):
    def get_url_params(self, context, next_page_token) -> dict:
        order = {"sortBy": "id", "sortOrder": "asc", "onlyWithFields": "id,companyId"}
        return {**super().get_url_params(context, next_page_token), **order}

    def get_child_context(self, record, context) -> dict | None:
        company = record.get("companyId")
        return None if company is None else {"companyId": company}


class CompanyList(ListStream):
    parent_stream_type = TrackedCompanies
    primary_keys = ("companyId", "id")
    # One bookmark for the stream, not one per company (SDK documentation, parent-child streams).
    state_partitioning_keys = ()


ORGANIZATION = (
    (NewestChangeFirst, "accounts", "/accounts"),
    (Contacts, "contacts", "/contacts"),
    (NewestChangeFirst, "signals", "/signals"),
)
COMPANY = (
    (TrackedCompanies, "tracked_companies", "/accounts"),
    (CompanyList, "news_articles", "/companies/{companyId}/news-articles"),
    (CompanyList, "job_openings", "/companies/{companyId}/job-openings"),
    (CompanyList, "earnings_calls", "/companies/{companyId}/earnings-calls"),
    (CompanyList, "filings", "/companies/{companyId}/filings"),
)


class TapAccountIntelligence(Tap):
    name = "tap-account-intelligence"
    config_jsonschema = th.PropertiesList(
        th.Property("api_url", th.StringType, required=True),
        th.Property("token", th.StringType, required=True, secret=True),
        th.Property("per_page", th.IntegerType, default=100),
        th.Property("lists", th.StringType, default="all", allowed_values=["all", "organization"]),
    ).to_dict()

    def discover_streams(self) -> list[ListStream]:
        streams = ORGANIZATION + COMPANY if self.config["lists"] == "all" else ORGANIZATION
        return [kind(self, name=name, schema=schema(name), path=path) for kind, name, path in streams]


if __name__ == "__main__":
    TapAccountIntelligence.cli()
