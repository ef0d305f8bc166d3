"""Values that are legal somewhere and wrong almost everywhere. Data only."""

from __future__ import annotations

from typing import Any, Final

_NUMBERS: Final = (
    *(0, 1, -1, 2**31 - 1, 2**31, -(2**31) - 1, 2**53 + 1, 2**63 - 1, 2**63, -(2**63) - 1, 10**30),
    *(1.5, -0.0, 1e300),
)
_TEXTS: Final = (
    *("", " ", "a", "-", ".", "..", "/", "a/b", "A" * 64, "a" * 254, "x" * 5000, "ünïcødé", "\u0000"),
    *("\u2028", "🚀", "\ufeff", "true", "null", "0", "-1", "1e3", "1Gi", "-5m", "0.5", "1e400", "100%"),
    *("2024-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "2024-13-01T00:00:00Z"),
    *("not-a-time", "10.0.0.1", "::1", "10.0.0.0/8", "*", "$(A)", "%s%n", "<&>", '"', "\\", "\n", "aGk="),
    *("a=b", "v1", "Always", "y", "1_000", "0x1F", "08"),
)
_CONTAINERS: Final[tuple[Any, ...]] = (
    *([], {}, [None], [[]], [{}], {"": ""}, {"a": None}, ["a", "a"], [1, "b", None], {"name": "x"}),
    [{"name": "x"}, {"name": "x"}],
)
JUNK: Final[tuple[Any, ...]] = (None, True, False, *_NUMBERS, *_TEXTS, *_CONTAINERS)

KEYS: Final = (
    *("", "bogus", "Name", "NAME", "a.b", "a/b", "\u0000", "🚀", "name", "type", "key", "value", "items"),
    *("$patch", "$retainKeys", "$setElementOrder/containers", "$deleteFromPrimitiveList/finalizers"),
    *("metadata", "spec", "status", "kind", "apiVersion", "finalizers", "ownerReferences", "managedFields"),
    *("generateName", "namespace", "uid", "resourceVersion", "deletionTimestamp", "creationTimestamp"),
    "generation",
)

ACCEPT: Final = (
    *("application/json", "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"),
    *("*/*", "text/html", "", ";;", ",", "*", "application/*", "a/b/c,application/json"),
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=Table;v=v9;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json",
    "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/vnd.kubernetes.protobuf,application/json",
    "application/json;q=0.1,application/yaml;q=0.9",
    "application/json;q=x",
)
MEDIA: Final = (
    *("application/json", "application/json; charset=utf-8", "APPLICATION/JSON", "application/json;"),
    *("application/yaml", "application/vnd.kubernetes.protobuf", "application/xml", "application/cbor"),
    *("text/plain", "", "/", "multipart/form-data", "application/json-patch+json"),
    *("application/merge-patch+json", "application/strategic-merge-patch+json"),
    *("application/apply-patch+yaml", "application/apply-patch+cbor"),
)
SELECTORS: Final = (
    *("a=b", "a==b", "a!=b", "a", "!a", "a in (b,c)", "a notin (b)", "a>1", "a<x", "a in ()", "a=", "=b"),
    *(",", "a,,b", "(", ")", "a in b", "a b", "in", "notin in (in)", "a!b", "!!a", "a=b,c=d", "é=é"),
    *("A" * 70 + "=b", "a=" + "b" * 70, "\u0000", "a" * 3000, "\\", "a=\\x", "metadata.name=a\\,b"),
    *("metadata.name=a", "metadata.name!=a", "metadata.namespace=default", "metadata.name=a,metadata.name=b"),
    *("status.phase=Running", "spec.nodeName=", "status.successful>0", "involvedObject.name=a"),
    *("type=Opaque", "spec.x=1"),
)
NUMBERS: Final = (
    *("0", "1", "2", "-1", "", "abc", "1.5", "+3", " 1", "0x10", "١", "01", "1e3", "9" * 25, "9" * 5000),
    "0" * 5000,
)
WORDS: Final = (
    *("true", "false", "", "1", "0", "x", "All", "None", "All,All", "Strict", "Warn", "Ignore", "Exact"),
    *("NotOlderThan", "Foreground", "Background", "Orphan", "é", "a" * 200, "a b", "\n"),
)
NUMERIC: Final = (
    *("limit", "resourceVersion", "timeoutSeconds", "gracePeriodSeconds", "tailLines", "sinceSeconds"),
)
WORDY: Final = (
    *("pretty", "dryRun", "fieldManager", "fieldValidation", "force", "resourceVersionMatch", "uid"),
    *("allowWatchBookmarks", "propagationPolicy", "orphanDependents", "sendInitialEvents", "container"),
    *("includeObject", "bogus", "", "ignoreStoreReadErrorWithClusterBreakingPotential"),
)
QUERIES: Final = ("%", "%zz", "&&=&", "a=%ff", "limit", ";", "a[]=1", "é")

PARTS: Final = (
    *("", ".", "..", "%2e%2e", "%00", "%ff", "%", "é", "a" * 300, "%2F", "namespaces", "watch", "proxy"),
    *("v1", "status", "*", "%0d%0a", "v9", "exec"),
)
PATHS: Final = (
    *("/", "//", "/api", "/apis", "/api/v1", "/apis/batch", "/apis/batch/v1", "/apis/nope", "/version"),
    *("/healthz", "/livez/ping", "/readyz?verbose", "/metrics", "/logs", "/.well-known/x"),
    *("/openapi/v2", "/openapi/v3", "/openapi/v3/apis/batch/v1", "/openapi/v3/%00"),
)
POINTERS: Final = (
    *("", "/", "/-", "/a~2", "~", "x", "/spec/-1", "/metadata/labels/-"),
    "/spec/containers/999999999999999999999",
)
YAML: Final = (
    *("&a {x: *a}", "*nope", "!!python/object:os.system x", "<<: {a: b}", "? [a]\n: b", "2024-01-01: x"),
    *("1: 2", "a: .nan", "a: !!binary x", "\ta: b", "a: 0o17", "a: 1_000", "a: a: a"),
    "%YAML 9.9\n---\na: b",
)
HEADERS: Final = {
    "User-Agent": ("", "é", "curl/8", "a" * 500, "Mozilla/5.0", "/"),
    "Impersonate-User": ("", "u", "system:anonymous", "é"),
    "Content-Encoding": ("gzip", "br", "x"),
    "If-None-Match": ("*", '"x"', "W/"),
    "Accept-Encoding": ("gzip",),
    "Authorization": ("", "Bearer", "Basic x", "Bearer é"),
    "X-Odd": ("\t",),
}
