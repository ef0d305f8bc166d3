"""Plain values as YAML, quoted as Kubernetes quotes: so that its own parser reads the same text back."""

from __future__ import annotations

from typing import Any, Final

import yaml

from longshore.api.codec import yamltext

try:
    from yaml import CSafeDumper as Dumper
except ImportError:  # PyYAML built without libyaml: the same text in five times the time
    from yaml import SafeDumper as Dumper  # type: ignore[assignment]

_STRING: Final = "tag:yaml.org,2002:str"


class _Dumper(Dumper):
    """Text with line ends as a block, text that would read as something else in double quotes."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: Dumper, value: str) -> yaml.ScalarNode:
    resolve: Any = dumper.resolve  # untyped in the library's stubs
    if "\n" in value:
        style: str | None = "|"
    elif yamltext.is_text(value) and resolve(yaml.ScalarNode, value, (True, False)) == _STRING:
        style = None
    else:
        style = '"'
    return dumper.represent_scalar(_STRING, value, style=style)


_Dumper.add_representer(str, _text)


def encode_yaml(value: Any) -> bytes:
    """One document, keys sorted."""
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=True, allow_unicode=True, default_flow_style=False)
    return text.encode()
