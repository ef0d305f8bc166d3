"""Names of modules: none is vague, none is a metaphor that docs/explanation/words.md does not explain, and
modules share a name only if it is a role or a Kubernetes word."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest
from handbook.reference import source

import longshore
from support.places import ROOT

pytestmark = pytest.mark.xdist_group("syntax trees")  # parsed once, not once per worker
PACKAGE = Path(longshore.__file__).parent


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


VAGUE = _names("""
    alike coming door failed following gathering hands happenings heads here issue leftovers measured owing
    partial parts passed plain quick recorded removal session until volumes wire wireless words written
""")
"""Names that said nothing of the module, or that several modules had for different things."""

ROLES = _names("""
    __init__ __main__ act backoff build clock controller decide dialect directories draft errors handlers keys
    loop memory metrics names node_access observe options plan protocol scheduler settings status sync table
    types view waking wanted
""")
"""Parts that every controller or layer has, and protocols whose engine and fake have the same name."""

KUBERNETES = _names("""
    accounting addresses admission adoption affinity batch binding child claims conditions containers
    controllers cronjob custom customresourcedefinition delete discovery endpoints env event events eviction
    get images indexes job job_update job_volumes jobflow jobs kinds kubeconfig limitrange limits logs missed
    mounts namespace node owners ownership persistentvolume persistentvolumeclaim pod pod_volumes podgroup
    pods ports port_forward priorityclass queue resourcequota resources run runtimeclass scale scheduling
    security service serviceaccount spec storageclass tasks tokens update volcano watch
""")
"""Kinds, fields, verbs and terms of Kubernetes and Volcano: each room has its own side of one thing."""


METAPHORS = _names("""
    actor altar anchor angel apron army attic baby baker bakery banner barn basement basket bath battle
    bazaar beacon bed bedroom bell bird birth blanket blood bone book border born bottle bouncer bow brain
    bread breath bride bridge brother butcher butler cabin cage cake camp candle canvas captain car cargo
    carpet cartographer castle cathedral cell cellar chair chamber chapel chapter chef chest choir chorus
    chronicle church circus cloakroom clothes coach coat coffin cook corner corridor couch cousin cow cradle
    crew crowd crown curtain dam dance daughter dawn death deck den desk diary dinner diplomat doctor dog
    doll door doorman dragon drawer dream dress duke dungeon dust ear egg elder emperor empire exile eye
    face fairy farm father feast feather fence ferry fire fireplace fish fleet floor flower foot forest
    forge fort fountain friend front fruit funeral furnace furnishing furniture garage garden gardener gate
    gatekeeper ghost gift glove grandfather grave graveyard grocer guardian guide gym hall hallway hammer
    hand harbor harbour harvest hat heart heaven helmet herald herd hero hive horse hospital hostel hotel
    house household hunt hunter hut inn island jail jailer janitor jury keeper keyhole kin king kingdom
    kitchen knight ladder lamp landlord lane laundry lawn lawyer ledger librarian life lighthouse lodge
    luggage maid mailbox mansion market marriage mattress mayor meadow meal medic messenger midwife mill
    mirror monk moon mother mountain mouth museum narrator neighbor neighbour nest nurse nursery oath ocean
    orchard orchestra oven palace pantry parade parlour passenger passport pasture pen perfume picnic
    pilgrim pilot pirate plane player playground playwright plumber poet police porch porter postman pot
    priest prince prison promise prophet pub puppet quarantine queen quilt recipe referee reserve river road
    roll roof room rope rug sail sailor sanctuary scaffold school scribe sea seat secretary servant sewer
    shelf shepherd sheriff ship shoe shop shore sibling sister skeleton skin sky sleep soldier song soul
    sponge stable stair star steward stomach storm story street suitcase supper surgeon sword tailor tale
    tavern teacher temple theatre throne tomb tongue tower town toy treasure treasury tribe trumpet tutor
    twin uncle undertaker uniform usher valet valley vault verdict village voyage wagon waiter wall wallet
    wardrobe warehouse watchman weaver wedding wharf wheel window wing witness womb workshop zoo
""")
"""Things of houses, families, journeys and towns. One of them names a module only if it means itself
(`LITERAL`) or is one of the words of docs/explanation/words.md."""

LITERAL = {"cell": "apiserver/tables/", "doctor": "cli/"}
"""Words that stand for the thing itself in one room, and would be a metaphor elsewhere."""

MAX_WORDS = 30


def _own_words() -> list[str]:
    page = (ROOT / "docs" / "explanation" / "words.md").read_text()
    return [word for word in re.findall(r"^\| (\w+) \|", page, re.MULTILINE) if word != "word"]


def _metaphors(path: str) -> set[str]:
    """The metaphors in a module's name, in the singular, that words.md does not explain."""
    own = {_singular(word) for word in _own_words()}
    found = {_singular(word) for word in Path(path).stem.split("_")} & METAPHORS - own
    return {word for word in found if word not in LITERAL or not path.startswith(LITERAL[word])}


def _singular(word: str) -> str:
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word.removesuffix("s") if word.endswith("s") and not word.endswith("ss") else word


def _modules() -> list[str]:
    return sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert not {path for path in _modules() if Path(path).stem in VAGUE}


def test_no_metaphor_names_a_module_unless_it_is_explained() -> None:
    assert not {path: found for path in _modules() if (found := _metaphors(path))}


@pytest.mark.parametrize("name", ["nursery.py", "births.py", "pid_cells.py", "furnishing.py"])
def test_a_metaphor_is_found(name: str) -> None:
    assert _metaphors(f"node/keeper/walls/{name}")


def test_the_words_of_our_own_are_few() -> None:
    assert len(_own_words()) == len(set(_own_words())) <= MAX_WORDS
    assert _own_words() == sorted(_own_words())


def test_modules_of_one_name_are_sides_of_one_thing() -> None:
    paths = defaultdict(list)
    for path in _modules():
        paths[Path(path).stem].append(path)
    shared = {name for name, found in paths.items() if len(found) > 1} - ROLES - KUBERNETES
    assert not shared, {name: paths[name] for name in shared}


def test_a_plan_and_a_view_say_whose_they_are() -> None:
    found = {
        f"{path}: {node.name}"
        for path, tree in source.modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and node.name in ("Plan", "View")
    }
    assert found == {"machinery/reasons.py: Plan"}  # the protocol of all plans


_OWN = re.compile(r"(?<!/apis/)longshore\.dev/")


def test_names_of_longshores_own_are_written_down_once() -> None:
    found = set()
    for path, tree in source.modules():
        prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        texts = [
            node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in prose
        ]
        if any(isinstance(text, str) and _OWN.search(text) for text in texts):
            found.add(path)
    assert found == {"api/facts/own_names.py"}
