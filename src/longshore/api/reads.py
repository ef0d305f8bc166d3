"""Rules about new objects say themselves what they look at besides the object's spec.

A rule is a function that has a say in what a new object becomes: a default, an admission step, a check, a
warning. Kinds (`Strategy.rules`) and admission list the rules that they run.
`apiserver/shortcuts/same_spec.py` asks them what makes two objects of the same spec differ. A rule that
does not say is taken to read everything.

    @reads("metadata.labels", only_with=("affinity", "topologySpreadConstraints"))
    def merge_label_keys(pod: Obj, ctx: Context) -> None: ...

One decorator says one thing; a rule that reads several under several conditions carries several.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from longshore.api.types import Obj

ANNOTATION: Final = "metadata.annotations["
"""How the name of a single annotation begins; `metadata.annotations[a/*]` stands for all that begin with
`a/`."""
EVERYTHING: Final = "everything"
FIELDS: Final = frozenset((
    EVERYTHING, "clock", "cluster", "metadata.finalizers", "metadata.labels", "metadata.name", "metadata.uid",
    "spec.hostname",
))  # fmt: skip
"""Names of the things that a rule may say it reads, beside annotations. `cluster` is any other object. The
texts of containers (command, args, values of variables) are no field here: no rule may read them, and a
test sees to it."""

Get: TypeAlias = Callable[[str, str, str], Obj | None]
"""(storage, namespace, name) -> the newest object, staged writes included; None when there is none."""
List: TypeAlias = Callable[[str, str], Iterable[Obj]]
"""(storage, namespace) -> the newest objects, staged writes included; namespace "" for cluster scope."""


class New(NamedTuple):
    """A new object that shares its spec with an earlier one, before its rules are asked again."""

    obj: Obj
    sent: Obj
    """The object's metadata as the client sent it."""
    get: Get
    every: List


class Reads(NamedTuple):
    """One thing that a rule says of itself."""

    fields: frozenset[str] = frozenset((EVERYTHING,))
    only_with: tuple[str, ...] = ()
    """Parts of the spec of which one must be there for the rule to look. Empty: it always looks."""
    when: Callable[[Any], bool] | None = None
    """Whether it looks at all, told from a spec (a dict) as a client sent it: unread and unchecked."""
    unless: Callable[[Get, List, str], bool] | None = None
    """Whether no object of the cluster gives the rule anything to read in this namespace at the moment."""
    again: Callable[[New], bool] | None = None
    """Asks the rule again, about these fields alone. False: the whole rule has to speak. The object's name
    may be a stand-in of the same length and letters, and it has no uid yet."""
    renew: Callable[[New], None] | None = None
    """Brings what the rule made of these fields up to date: a default as soon as the metadata is read, any
    other rule once the object has its name and uid. The object may be changed, its spec has to be copied."""

    @property
    def is_always_varied(self) -> bool:
        """Whether nothing but the rule itself can tell what it makes of the fields."""
        return bool(self.fields) and not (
            self.only_with or self.when or self.unless or self.again or self.renew
        )


_UNSAID: Final = (Reads(),)
_Rule = TypeVar("_Rule", bound=Callable[..., Any])


def reads(
    *fields: str,
    only_with: tuple[str, ...] = (),
    when: Callable[[Any], bool] | None = None,
    unless: Callable[[Get, List, str], bool] | None = None,
    again: Callable[[New], bool] | None = None,
    renew: Callable[[New], None] | None = None,
) -> Callable[[_Rule], _Rule]:
    """Says of a rule what it reads; without fields, that it reads the spec alone."""
    for name in fields:
        if name not in FIELDS and not (name.startswith(ANNOTATION) and name.endswith("]")):
            raise ValueError(f"{name!r} is none of {sorted(FIELDS)} and no annotation")
    said = Reads(frozenset(fields), only_with, when, unless, again, renew)

    def say(rule: _Rule) -> _Rule:
        rule.reads = (*getattr(rule, "reads", ()), said)  # type: ignore[attr-defined] # a function's own
        return rule

    return say


def of(rule: Callable[..., Any]) -> tuple[Reads, ...]:
    """All that a rule says of itself."""
    said: tuple[Reads, ...] = getattr(rule, "reads", _UNSAID)
    return said


class Rules(NamedTuple):
    """The rules about new objects of one kind, as its strategy runs them."""

    defaults: tuple[Callable[..., Any], ...]
    """Rules that run before managedFields are written: what they set belongs to the writer."""
    later: tuple[Callable[..., Any], ...]
