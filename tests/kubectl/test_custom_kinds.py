"""A person's own kinds in kubectl: from the definition to its columns, scale, explain and its end."""

from __future__ import annotations

import json

import pytest

from support.kubectl_binary import Kubectl

pytestmark = pytest.mark.xdist_group("kubectl custom kinds")

BOATS = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.example.org}
spec:
  group: example.org
  names: {kind: Boat, plural: boats, singular: boat, shortNames: [bt], categories: [all]}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.oars, statusReplicasPath: .status.oars}
    additionalPrinterColumns:
    - {name: Oars, type: integer, jsonPath: .spec.oars}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [oars]
            properties:
              oars: {type: integer, minimum: 1, description: How many oars.}
              colour: {type: string, default: white, enum: [white, red]}
          status:
            type: object
            properties: {oars: {type: integer}}
"""


def boat(name: str, **spec: object) -> str:
    return json.dumps(
        {"apiVersion": "example.org/v1", "kind": "Boat", "metadata": {"name": name}, "spec": spec}
    )


@pytest.fixture(autouse=True)
def _boats(kubectl: Kubectl) -> None:
    kubectl.ok("apply", "-f", "-", stdin=BOATS)
    kubectl.ok("wait", "--for=condition=established", "crd/boats.example.org", "--timeout=10s")


def test_it_is_listed_with_its_columns_by_every_name(kubectl: Kubectl) -> None:
    kubectl.ok("apply", "-f", "-", stdin=boat("b", oars=2))
    for name in ("boats", "boat", "bt", "boats.example.org", "boats.v1.example.org"):
        assert kubectl.ok("get", name).split() == ["NAME", "OARS", "b", "2"]
    assert "boat.example.org/b" in kubectl.ok("get", "all")
    assert kubectl.ok("get", "bt", "b", "-o", "jsonpath={.spec.colour}") == "white"


def test_what_the_schema_forbids_is_refused(kubectl: Kubectl) -> None:
    refusal = kubectl.refused("apply", "-f", "-", stdin=boat("b", oars=0, colour="blue"))
    assert refusal.splitlines() == [
        'The Boat "b" is invalid: ',
        '* spec.colour: Unsupported value: "blue": supported values: "white", "red"',
        "* spec.oars: Invalid value: 0: spec.oars in body should be greater than or equal to 1",
    ]
    assert 'unknown field "spec.sails"' in kubectl.refused(
        "apply", "-f", "-", stdin=boat("b", oars=1, sails=3)
    )


def test_it_is_applied_changed_scaled_and_edited(kubectl: Kubectl) -> None:
    kubectl.ok("apply", "-f", "-", stdin=boat("b", oars=2))
    assert kubectl.ok("apply", "-f", "-", stdin=boat("b", oars=3)) == "boat.example.org/b configured\n"
    assert kubectl.ok("scale", "boat", "b", "--replicas=4") == "boat.example.org/b scaled\n"
    kubectl.ok("patch", "boat", "b", "--type=merge", "-p", '{"spec":{"colour":"red"}}')
    kubectl.ok("edit", "boat", "b", env={"KUBE_EDITOR": "sed -i 's/colour: red/colour: white/'"})
    kubectl.ok("patch", "boat", "b", "--subresource=status", "--type=merge", "-p", '{"status":{"oars":4}}')
    shown = "jsonpath={.spec}{.status}{.metadata.generation}"
    assert kubectl.ok("get", "boat", "b", "-o", shown) == '{"colour":"white","oars":4}{"oars":4}5'
    conflict = kubectl.refused(
        "apply", "--server-side", "--field-manager=other", "-f", "-", stdin=boat("b", oars=9)
    )
    assert "Apply failed with 1 conflict" in conflict
    assert ".spec.oars" in conflict


def test_it_is_explained(kubectl: Kubectl) -> None:
    assert "FIELD: oars <integer>" in kubectl.ok("explain", "boat.spec.oars")
    assert "How many oars." in kubectl.ok("explain", "boat.spec")


def test_its_definition_takes_the_objects_with_it(kubectl: Kubectl) -> None:
    kubectl.ok("apply", "-f", "-", stdin=boat("b", oars=2))
    kubectl.ok("delete", "crd", "boats.example.org", "--timeout=10s")
    assert "could not find the requested resource" in kubectl.refused("get", "boats")
    kubectl.ok("apply", "-f", "-", stdin=BOATS)
    kubectl.ok("wait", "--for=condition=established", "crd/boats.example.org", "--timeout=10s")
    assert kubectl.ok("get", "boats", "-o", "name") == ""
