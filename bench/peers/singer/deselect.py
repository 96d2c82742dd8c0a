"""Reads a Singer catalog and deselects the stream that is only read for its children."""

import json
import sys

catalog = json.load(sys.stdin)
for stream in catalog["streams"]:
    if stream["tap_stream_id"] == "tracked_companies":
        for entry in stream["metadata"]:
            if entry["breadcrumb"] == []:
                entry["metadata"]["selected"] = False
json.dump(catalog, sys.stdout)
