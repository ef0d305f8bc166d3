"""Says who you are to the server, and what you may do, as kubectl auth does.

longshore auth whoami
longshore auth can-i create jobs
longshore auth can-i get pods/log --as system:serviceaccount:default:ci
longshore auth can-i --list
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from longshore.cli.arguments import flags
from longshore.cli.main import Said
from longshore.cli.printing.columns import Columns
from longshore.cli.server import connecting

if TYPE_CHECKING:
    from longshore.api.types import Obj
    from longshore.cli.server.requests import Server

_AUTHORIZATION = "authorization.k8s.io"
_AUTHENTICATION = "authentication.k8s.io"
_VERBS = frozenset(
    {"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "use", "bind"}
    | {"impersonate", "escalate", "approve", "sign", "attest", "proxy", "*"}
)
_URL_VERBS = frozenset(("get", "put", "post", "head", "options", "delete", "patch", "*"))


_CAN_FLAGS = """
words* VERB TYPE[/NAME] | VERB /URL  words   the action: create jobs, get /healthz
--all-namespaces, -A                 switch  in all namespaces
--list                               switch  list all that you may do
--no-headers                         on      leave out the header line of --list
--quiet, -q                          switch  answer by exit code alone
--subresource S                      text    a subresource, such as log or scale
"""


def add_arguments(parser: ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", metavar="can-i|whoami", required=True)
    about = "Says whether you may do something. Exit code 1 means no."
    can = flags.verb(verbs, "can-i", "say whether you may do something; exit code 1 means no", about)
    flags.table(can, _CAN_FLAGS)
    connecting.add_impersonation(can, "ask")
    about = "Says who you are to the server: name, groups and more."
    me = flags.verb(verbs, "whoami", "say who you are to the server", about)
    me.add_argument("--output", "-o", default="", metavar="FORMAT", help="json, yaml, jsonpath=…")
    connecting.add_impersonation(me, "ask")


def run(arguments: Namespace) -> int:
    with connecting.opened_as(arguments) as server:
        if arguments.verb == "whoami":
            return _whoami(server, arguments.output)
        return _list(server, arguments) if arguments.list else _can(server, arguments)


def _reviewed(server: Server, group: str, kind: str, asked: Obj) -> Obj:
    """The server's answer to a review of this kind."""
    body = {"apiVersion": f"{group}/v1", "kind": kind, **asked}
    return server.json("POST", f"/apis/{group}/v1/{kind.lower()}s", body=body)


def _whoami(server: Server, output: str) -> int:
    from longshore.cli.printing import objects

    found = _reviewed(server, _AUTHENTICATION, "SelfSubjectReview", {})
    if output:
        sys.stdout.write(objects.writer(output)(found))
        return 0
    user = found["status"]["userInfo"]
    rows = [("ATTRIBUTE", "VALUE")]
    rows += [(title, user[key]) for title, key in (("Username", "username"), ("UID", "uid")) if user.get(key)]
    if user.get("groups"):
        rows.append(("Groups", f"[{' '.join(user['groups'])}]"))
    extra = sorted((user.get("extra") or {}).items())
    rows += [(f"Extra: {key}", f"[{' '.join(values)}]") for key, values in extra]
    sys.stdout.write(Columns().lines(rows))
    return 0


def _can(server: Server, arguments: Namespace) -> int:
    if len(arguments.words) not in (2, 3):
        raise Said(
            "error: you must specify two arguments: verb resource or verb resource/resourceName.\n"
            "See 'longshore auth can-i --help' for help and examples.",
            2,
        )
    verb, what, *name = arguments.words
    if what.startswith("/"):
        if verb not in _URL_VERBS:
            _warn(f"verb '{verb}' is not a known verb")
        asked = {"nonResourceAttributes": {"verb": verb, "path": what}}
    else:
        asked = {"resourceAttributes": _attributes(server, verb, what, name, arguments)}
    status = _reviewed(server, _AUTHORIZATION, "SelfSubjectAccessReview", {"spec": asked})["status"]
    if not arguments.quiet:
        reasons = [status[key] for key in ("reason", "evaluationError") if status.get(key)]
        print("yes" if status.get("allowed") else " - ".join(["no", *reasons]))
    return 0 if status.get("allowed") else 1


def _attributes(server: Server, verb: str, what: str, name: list[str], arguments: Namespace) -> Obj:
    from longshore.cli.arguments import kinds

    word, _, named = what.partition("/")
    if verb not in _VERBS:
        _warn(f"verb '{verb}' is not a known verb")
    group, resource = "", word
    if word == "*":
        group = "*"
    else:
        found = kinds.discover(server).named(word)
        if found is None:
            resource, _, group = word.partition(".")
            of = f" in group '{group}'" if group else ""
            _warn(f"the server doesn't have a resource type '{resource}'{of}")
        else:
            group, resource = found.group, found.plural
            if not arguments.all_namespaces and not found.namespaced:
                of = f" in group '{group}'" if group else ""
                _warn(f"resource '{resource}' is not namespace scoped{of}")
    return {
        "namespace": "" if arguments.all_namespaces else server.namespace,
        "verb": verb,
        "group": group,
        "resource": resource,
        "subresource": arguments.subresource,
        "name": named or "".join(name),
    }


def _warn(text: str) -> None:
    print(f"Warning: {text}\n", file=sys.stderr)


def _list(server: Server, arguments: Namespace) -> int:
    asked = {"spec": {"namespace": server.namespace}}
    status = _reviewed(server, _AUTHORIZATION, "SelfSubjectRulesReview", asked)["status"]
    if status.get("incomplete"):
        _warn(f"the list may be incomplete: {status.get('evaluationError', '')}".rstrip(": "))
    titles = ("Resources", "Non-Resource URLs", "Resource Names", "Verbs")
    rows = [] if arguments.no_headers else [titles]
    sys.stdout.write(Columns().lines(rows + _rules(status)))
    return 0


def _rules(status: Obj) -> list[tuple[str, str, str, str]]:
    """One row for each resource (and name) with all its verbs, and for each URL. The order is kubectl's: by
    verbs first, as Go prints a list of them."""
    verbs: dict[tuple[str, str, str], list[str]] = {}
    for rule in status.get("resourceRules") or ():
        for group in rule.get("apiGroups") or [""]:
            for resource in rule.get("resources") or ():
                for name in rule.get("resourceNames") or [""]:
                    known = verbs.setdefault((group, resource, name), [])
                    known += [verb for verb in rule["verbs"] if verb not in known]
    found = [(f"[{' '.join(each)}]", *key, "[]") for key, each in verbs.items()]
    for rule in status.get("nonResourceRules") or ():
        urls = rule.get("nonResourceURLs") or ()
        found += [(f"[{verb}]", "", "", "", f"[{url}]") for url in urls for verb in rule["verbs"]]
    found.sort(key=lambda each: (each[0], f"{each[1]}]", f"{each[2]}]", f"{each[3]}]", each[4]))
    return [
        (_with_group(resource, group), url, f"[{name}]", verb) for verb, group, resource, name, url in found
    ]


def _with_group(resource: str, group: str) -> str:
    """`jobs.batch/status`: the group comes before the subresource."""
    name, slash, part = resource.partition("/")
    return f"{name}.{group}{slash}{part}" if group else resource
