"""Makes, shows and deletes Volcano's JobFlows, as `vcctl jobflow` does.

longshore jobflow create -f jobflows.yaml
longshore jobflow list --all-namespaces
longshore jobflow describe -N build -o json
"""

from __future__ import annotations

from longshore.cli.volcano import flows, vcctl

add_arguments, run = vcctl.command(flows.FLOWS.word, flows.FLOWS.verbs)
