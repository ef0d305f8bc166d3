"""One kustomization file: found, read, and refused when it asks for more than there is."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from longshore.api.types import Obj
from longshore.cli.main import Said, did_you_mean

NAMES: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_FIELDS: Final = {
    "apiVersion": str,
    "kind": str,
    "metadata": dict,
    "resources": list,
    "bases": list,
    "components": list,
    "namespace": str,
    "namePrefix": str,
    "nameSuffix": str,
    "labels": list,
    "commonLabels": dict,
    "commonAnnotations": dict,
    "images": list,
    "replicas": list,
    "patches": list,
    "patchesStrategicMerge": list,
    "patchesJson6902": list,
    "configMapGenerator": list,
    "secretGenerator": list,
    "generatorOptions": dict,
}
_UNSUPPORTED: Final = frozenset(
    {"buildMetadata", "configurations", "crds", "generators", "helmChartInflationGenerator", "helmCharts"}
    | {"helmGlobals", "inventory", "openapi", "replacements", "sortOptions", "transformers", "validators"}
    | {"vars"}
)
"""Fields that kustomize has beyond those above."""
_KINDS: Final = {
    "Kustomization": "kustomize.config.k8s.io/v1beta1",
    "Component": "kustomize.config.k8s.io/v1alpha1",
}


class Wrong(Said):
    """A mistake in a kustomization. The message begins with the file."""

    def __init__(self, file: Path, message: str) -> None:
        super().__init__(f"error: {file}: {message}", 2)


class Kustomization:
    """The fields of a kustomization in a directory, with the readers that name the file in their errors."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.file = _file(directory)
        self._content = _read(self.file)
        self.is_component = self._content.get("kind") == "Component"

    def listed(self, name: str) -> list[Any]:
        return self._content.get(name) or []

    def mapped(self, name: str) -> Obj:
        return self._content.get(name) or {}

    def text(self, name: str) -> str:
        return self._content.get(name) or ""

    def records(self, name: str, *known: str) -> list[Obj]:
        """A list of maps that have no other fields than the known ones."""
        found = self.listed(name)
        for at, each in enumerate(found):
            if not isinstance(each, dict):
                raise self.wrong(f"{name}[{at}]: must be a map, not {each!r}")
            self.check(each, f"{name}[{at}]", *known)
        return found

    def check(self, given: Obj, where: str, *known: str) -> None:
        for key in given:
            if key not in known:
                raise self.wrong(f"{where}.{key}: there is no such field{did_you_mean(str(key), known)}")

    def below(self, name: str) -> Path:
        """A file that the kustomization names. It must be in or below its directory, as kustomize has it."""
        path = self.directory / name
        if not path.resolve().is_relative_to(self.directory.resolve()):
            raise self.wrong(f"{name}: a file must be in or below {self.directory}")
        return path

    def read(self, name: str) -> bytes:
        try:
            return self.below(name).read_bytes()
        except OSError as err:
            raise self.wrong(f"cannot read {name}: {err.strerror}") from None

    def wrong(self, message: str) -> Wrong:
        return Wrong(self.file, message)


def parsed(raw: bytes, file: Path) -> Any:
    """The value of a YAML document."""
    from longshore.api import codec
    from longshore.api.codec.decoded import DecodeError

    try:
        plain = codec.plain_yaml(raw)
    except DecodeError as err:
        raise Wrong(file, f"not YAML: {err}") from None
    if plain.problems:
        raise Wrong(file, plain.problems[0])
    return plain.value


def _file(directory: Path) -> Path:
    found = [directory / name for name in NAMES if (directory / name).is_file()]
    if not found:
        what = f"no {', '.join(NAMES)} in it" if directory.is_dir() else "not a directory"
        raise Said(f"error: {directory}: {what}", 2)
    if len(found) > 1:
        raise Said(f"error: {directory}: two kustomizations: {found[0].name} and {found[1].name}", 2)
    return found[0]


def _read(file: Path) -> Obj:
    content = parsed(file.read_bytes(), file)
    if not isinstance(content, dict):
        raise Wrong(file, "a kustomization is a map of fields, such as resources")
    for name, value in content.items():
        if name in _UNSUPPORTED:
            raise Wrong(file, f"{name}: not supported here; use: kubectl kustomize | longshore apply -f -")
        if name not in _FIELDS:
            raise Wrong(file, f"{name}: there is no such field{did_you_mean(str(name), _FIELDS)}")
        if value is not None and not isinstance(value, _FIELDS[name]):
            words = {str: "a text", list: "a list", dict: "a map"}
            raise Wrong(file, f"{name}: must be {words[_FIELDS[name]]}, not {value!r}")
    kind = content.get("kind") or "Kustomization"
    if kind not in _KINDS or content.get("apiVersion", _KINDS[kind]) != _KINDS[kind]:
        raise Wrong(file, f"is a {kind} of {content.get('apiVersion', '')}, not a Kustomization")
    return content
